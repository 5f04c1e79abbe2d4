"""Reads the C headers: their structures, constants, _INIT macros and functions.  For the scripts beside it."""
import pathlib
import re

CAPI = pathlib.Path(__file__).resolve().parents[2] / "capi"
FOLDER = CAPI / "include/mixtura"
HEADERS = [FOLDER / "mixtura.h", FOLDER / "mixtura_experimental.h"]


def text():
    """Both headers without comments and with continued lines joined."""
    joined = "\n".join(header.read_text(encoding="utf-8") for header in HEADERS)
    return re.sub(r"/\*.*?\*/", " ", joined, flags=re.S).replace("\\\n", " ")


def structures():
    """[(name, [field, ...])] of every structure whose fields are public."""
    found = []
    for tag, body, name in re.findall(r"typedef struct (\w+) \{(.*?)\} (\w+);", text(), re.S):
        assert tag == name, f"struct {tag} is called {name}"
        fields = []
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            match = re.search(r"(\w+)(?:\[\w+\])?$", declaration)
            assert match and "," not in declaration, f"{name}: one field a declaration, not '{declaration}'"
            fields.append(match[1])
        found.append((name, fields))
    assert len(found) == text().count("typedef struct") - len(re.findall(r"typedef struct \w+ \w+;", text())), "a struct was missed"
    return found


def enumerators():
    return [name for body in re.findall(r"\benum \{(.*?)\}", text(), re.S) for name in re.findall(r"(MIXTURA_\w+)\s*=", body)]


def macros():
    """{name: value} of the macros that hold a value; attributes, guards and _INIT are none."""
    found = dict(re.findall(r"^#define (MIXTURA_\w+)[ \t]+(\S.*?)\s*$", text(), re.M))
    skipped = {"MIXTURA_API", "MIXTURA_MUST_USE", "MIXTURA_NOEXCEPT"}
    return {name: value for name, value in found.items() if name not in skipped and not name.endswith("_INIT")}


def initialisers():
    return re.findall(r"^#define (MIXTURA_\w+_INIT)\b", text(), re.M)


def functions():
    found = re.findall(r"\bMIXTURA_API\b[^;{]*?\b(mixtura_\w+)\s*\(", text())
    assert len(found) == len(re.findall(r"^\s*MIXTURA_API\b", text(), re.M)), "a function was missed"
    return found
