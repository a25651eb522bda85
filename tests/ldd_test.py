#!/usr/bin/env python3
"""The programs need no library that another machine may lack.

kedge needs the C library alone; kedge-train needs libtorch beside it, and everything is found.
Usage: ldd_test.py [BIN FOLDER]
"""

import pathlib
import re
import subprocess
import sys

C_LIBRARY = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
COMPILER = {"libstdc++.so.6", "libgcc_s.so.1"}
LIBTORCH = {"libtorch_cpu.so", "libc10.so"}
ALLOWED = {"kedge": C_LIBRARY, "kedge-train": C_LIBRARY | COMPILER | LIBTORCH}


def output(*command: str) -> str:
    return subprocess.run(command, text=True, check=True, capture_output=True).stdout


def check(program: pathlib.Path) -> list[str]:
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(program))))
    errors = [
        f"{program.name} needs {library}" for library in sorted(needed - ALLOWED[program.name])
    ]
    for library in re.findall(r"(\S+) => not found", output("ldd", str(program))):
        errors.append(f"{program.name}: {library} is not found")
    return errors


def main(folder: pathlib.Path) -> int:
    errors = [error for name in ALLOWED for error in check(folder / name)]
    print("\n".join(errors) or "ldd: ok")
    return bool(errors)


if __name__ == "__main__":
    default = pathlib.Path(__file__).resolve().parents[1] / "build/bin"
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default))
