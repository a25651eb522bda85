"""Make PyPI's torch, which is built for CUDA, importable without NVIDIA's libraries (2 GB).

Usage: torch_without_cuda.py COMPILER SITE_PACKAGES

Each library of NVIDIA's that torch names and that is not here becomes an empty one beside it; the
functions that they would have stand in one more library and end the process when they are called,
which nothing does where there is no GPU. That one has a name that torch does not know: the loader
looks for a symbol's version in the library that is named for it, and ends where it finds none.
"""

import pathlib
import re
import subprocess
import sys

VENDOR = re.compile(r"lib(cu|nv|nccl)\w*\.so\.\d+")
STAND_IN = "no_cuda"


def lines(*command: str | pathlib.Path) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def symbols(library: pathlib.Path, kind: str) -> set[str]:
    return {line.split()[-1].split("@")[0] for line in lines("nm", "-D", f"--{kind}-only", library)}


def make_library(compiler: str, path: pathlib.Path, source: str, *options: str) -> None:
    command = [compiler, "-shared", "-x", "assembler", "-", f"-Wl,-soname,{path.name}", "-o", path]
    note = '.section .note.GNU-stack,"",@progbits\n'
    subprocess.run([*command, *options], input=source + note, text=True, check=True)


def main(compiler: str, site_packages: str) -> None:
    folder = pathlib.Path(site_packages, "torch/lib")
    torch = list(folder.glob("*.so"))
    vendor = list(pathlib.Path(site_packages, "nvidia").glob("**/*.so*"))
    there = {path.name for path in vendor}
    needed = {
        match[0]
        for path in torch
        for line in lines("readelf", "-d", path)
        if "NEEDED" in line and (match := VENDOR.search(line))
    }
    defined = set().union(*(symbols(path, "defined") for path in [*torch, *vendor]))
    wanted = set().union(*(symbols(path, "undefined") for path in torch)) - defined
    functions = sorted(name for name in wanted if re.match(r"(cu|nv|nccl)[A-Za-z]", name))
    text = "".join(f".globl {name}\n.type {name},@function\n{name}:\n" for name in functions)
    make_library(compiler, folder / f"lib{STAND_IN}.so", f".text\n{text}ud2\n")
    for name in needed - there:
        link = (f"-L{folder}", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", f"-l{STAND_IN}")
        make_library(compiler, folder / name, "", *link)


main(*sys.argv[1:])
