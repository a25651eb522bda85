"""Run clang-tidy on C++ files with the compile commands of a build made by g++.

clang cannot read g++'s pre-compiled headers nor some of its flags, so those are taken out of a
copy of compile_commands.json.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# -include of CMake's pre-compiled header, and what only g++ or the linker's launcher knows.
GCC_ONLY = re.compile(
    r"-Winvalid-pch|-include \S*cmake_pch\.hxx|-fpch-preprocess|-Wno-restrict|-Wno-stringop-\w+"
    r"|-Wno-maybe-uninitialized|-Wno-subobject-linkage|-Wno-dangling-reference|--param=ggc-\S+"
    r"|-fno-tree-pta|-fno-ipa-modref|-munroll-only-small-loops"
)


def clang_commands(database: pathlib.Path) -> list[dict]:
    entries = json.loads(database.read_text())
    for entry in entries:
        entry["command"] = GCC_ONLY.sub("", entry["command"])
    return entries


def main(tool: str, database: str, *names: str) -> int:
    entries = clang_commands(pathlib.Path(database))
    known = {entry["file"] for entry in entries}
    files = [path for name in names if (path := str(pathlib.Path(name).resolve())) in known]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(entries))

        def check(path: str) -> str:
            done = subprocess.run([tool, "-p", folder, "--quiet", path], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            return done.stdout if done.returncode else ""

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            failures = [output for output in pool.map(check, files) if output]
    print("".join(failures), end="")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
