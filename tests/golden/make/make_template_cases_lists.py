"""The variables of make_template_cases.py, and its expressions that are written out one by one."""
import pathlib

VARIABLES = dict(
    user="Ada", n=5, pi=3.25, yes=True, no=False, nothing=None, empty="", words=["b", "A", "c", "a"], numbers=[3, 1, 2], nested=[[1, [2, "x"]], {"k": [None]}],
    people=[{"name": "bo", "age": 30, "tags": ["x"], "home": {"city": "Oslo"}}, {"name": "Al", "age": 25, "tags": [], "home": {"city": "Rome"}}, {"name": "cy", "age": 30, "home": {"city": "oslo"}}],
    messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <|im_end|>"}, {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}],
    table={"b": 1, "a": 2, "C": 3, "items": "shadowed", "_private": 4}, tree=[{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}], html="<b>&\"'", ns=None)
VARIABLES.pop("ns")

# One expression a line; a string literal that spans lines ends its lines with a backslash.
EXPRESSIONS = (pathlib.Path(__file__).parent / "template_expressions.txt").read_text().rstrip("\n").split("\n")
joined = []
for line in EXPRESSIONS:
    if joined and joined[-1].endswith('"\\'): joined[-1] += "\n" + line
    else: joined.append(line)
EXPRESSIONS = joined
