#!/usr/bin/env python3
"""The path of somebody who has the installed tree and nothing else: installs the build into a prefix, moves the prefix, and
builds hosts from there by pkg-config and by CMake, in C and C++, with LD_LIBRARY_PATH unset.
Usage: newcomer.py CMAKE BUILD_DIR SOURCE_DIR CC CXX MODEL"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CMAKE, BUILD, SOURCE, CC, CXX, MODEL = sys.argv[1:]
SOURCE = pathlib.Path(SOURCE)
EXAMPLES, HOST, TOKENIZER = SOURCE / "examples", SOURCE / "tests/capi/host", SOURCE / "tests/golden/data/tokenizers/bpe-llama3"
CLEAN = {name: value for name, value in os.environ.items()
         if name not in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "CPATH", "LIBRARY_PATH")}
SYSTEM = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "linux-vdso.so.1"}
QUESTION = "Why is the sky blue?"


def run(*command, is_error=False, **environment):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**CLEAN, **environment}, timeout=300)
    if (done.returncode != 0) != is_error:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def expect(is_so, what):
    if not is_so:
        raise SystemExit(what)


def try_program(program):
    """A host program works on a model, and says what is wrong with a path."""
    failed = run(program, "/no/such/model.gguf", QUESTION, is_error=True)
    expect(failed.returncode == 1 and "/no/such/model.gguf" in failed.stderr, f"{program}: {failed.returncode} {failed.stderr}")
    answer = run(program, MODEL, QUESTION).stdout
    expect("light" in answer.lower(), f"{program} answers: {answer}")


def build_host(folder, prefix_path):
    """The hosts of host/CMakeLists.txt against one tree."""
    run(CMAKE, "-S", HOST, "-B", folder, f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}", f"-DEXAMPLES={EXAMPLES}",
        f"-DCMAKE_PREFIX_PATH={prefix_path}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF")
    run(CMAKE, "--build", folder)
    ids = [run(folder / f"same_names_{kind}", TOKENIZER).stdout for kind in ("capi", "mixtura")]
    expect(ids[0] == ids[1] and len(ids[0].split()) > 5, f"the two libraries tokenize differently: {ids}")


def check_tree(prefix):
    """What is there, and that nothing in it knows where it was built or first installed."""
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    library = next(prefix.rglob("libmixtura.so")).parent
    for name in ("libmixtura.so.0.1", "libmixtura.a", "pkgconfig/mixtura.pc", "cmake/mixtura/mixturaConfig.cmake",
                 "cmake/mixtura/mixturaConfigVersion.cmake", "cmake/mixtura/mixturaTargets.cmake"):
        expect((library / name).exists(), f"{name} was not installed: {sorted(found)}")
    for name in ("mixtura.h", "mixtura_experimental.h", "version.h", "mixtura.hpp", "router.hpp"):
        expect(f"include/mixtura/{name}" in found, f"include/mixtura/{name} was not installed")
    for path in (path for path in prefix.rglob("*") if path.suffix in (".cmake", ".pc", ".h", ".hpp", ".md")):
        for place in (BUILD, str(SOURCE), str(prefix.parent)):
            expect(place not in path.read_text(encoding="utf-8"), f"{path.relative_to(prefix)} names {place}")

    dynamic = run("readelf", "--dynamic", "--wide", library / "libmixtura.so").stdout
    expect("[libmixtura.so.0.1]" in dynamic, f"SONAME: {dynamic}")
    needed = set(re.findall(r"^\s*(\S+)(?: =>| \()", run("ldd", library / "libmixtura.so").stdout, re.M))
    strange = {name for name in needed if name not in SYSTEM and "ld-linux" not in name}
    expect(not strange, f"libmixtura.so needs {strange}")
    for name, nm in ("libmixtura.so", ("nm", "-D")), ("libmixtura.a", ("nm", "-g")):
        symbols = run(*nm, library / name).stdout
        expect(symbols.count("mixtura") > 100, f"nm sees no symbols in {name}")
        leaked = re.findall(r"^.* [A-Za-z] ((?:_?pcre2_|utf8proc_)\w+)$", symbols, re.M)
        expect(not leaked, f"{name} shows {len(leaked)} third-party symbols, such as {leaked[:3]}")
    for program in prefix.glob("bin/*"):
        expect("[$ORIGIN/../" in run("readelf", "--dynamic", "--wide", program).stdout, f"{program.name} has no $ORIGIN run path")
        run(program, "--version")
    return library


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary).resolve()
    run(CMAKE, "--install", BUILD, "--prefix", folder / "first")
    shutil.move(folder / "first", folder / "moved")
    library = check_tree(folder / "moved")

    flags = run("pkg-config", "--cflags", "--libs", "mixtura", PKG_CONFIG_PATH=str(library / "pkgconfig")).stdout.split()
    run(CC, "-std=c99", "-o", folder / "hello", EXAMPLES / "hello.c", *flags)
    try_program(folder / "hello")
    print("pkg-config: hello.c answers")

    build_host(folder / "host", folder / "moved")
    for name in ("hello", "embed"):
        try_program(folder / "host" / name)
    print("find_package: hello.c and embed.cpp answer; a host's own pcre2_* and utf8proc_* stay apart")

    build_host(folder / "of_build_tree", BUILD)
    run(CMAKE, "-S", HOST / "subproject", "-B", folder / "subproject", f"-DCMAKE_CXX_COMPILER={CXX}", f"-DMIXTURA={SOURCE}")
    print("the build tree and add_subdirectory have the same targets")
