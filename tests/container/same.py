#!/usr/bin/env python3
"""A training inside an image is the same as outside, to the last bit.

Usage: same.py [KEDGE]      (build/bin/kedge)

The image is made by `kedge container make` on a small root folder of this machine's own programs,
built and run by Apptainer. Skipped where there is no apptainer, or where it may not run here.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

CONFIG = """
data: {name: synthetic, samples: 2000, image_size: 12, channels: 1}
model: {name: mlp, hidden: [32], dropout: 0.2}
optimizer: {name: adamw, lr: 0.001}
train: {epochs: 3, device: cpu, threads: 1}
"""

# What the image's own shell needs; kedge brings the rest.
PROGRAMS = ["bash", "sh", "dirname", "ls", "cat", "env"]


def call(command: list, **options) -> subprocess.CompletedProcess:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def make_base(folder: pathlib.Path) -> None:
    """A root folder with this machine's C library, its loader and a shell."""
    for name in ("bin", "dev", "etc", "proc", "sys", "tmp", "usr"):
        (folder / name).mkdir(parents=True)
    for name in PROGRAMS:
        source = pathlib.Path(os.path.realpath(shutil.which(name)))
        shutil.copy(source, folder / "bin" / name)
        for line in call(["ldd", source]).stdout.splitlines():
            copy_library(line, folder)
    for line in call(["ldd", ROOT / "build/bin/kedge-train"]).stdout.splitlines():
        if line.split()[0].startswith(("libc.", "libm.", "libdl.", "libpthread.", "/lib")):
            copy_library(line, folder)


def copy_library(line: str, folder: pathlib.Path) -> None:
    for word in line.split():
        if word.startswith("/"):
            target = folder / word[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy(os.path.realpath(word), target)


def find_runner(apptainer: str, image: pathlib.Path) -> list | str:
    """How this machine lets it run a program, or what it says when it does not."""
    said = ""
    for options in ([], ["--no-privs"], ["-u"], ["--unsquash"]):
        command = [apptainer, "exec", *options, str(image), "/bin/ls", "/opt/kedge/bin"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0 and "kedge-train" in done.stdout:
            return [apptainer, "exec", *options]
        said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it says nothing"
    return said


def digests(folder: pathlib.Path) -> dict[str, str]:
    last = folder / "checkpoints" / "last"
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in last.glob("*.safetensors")}
    assert len(found) > 1, f"{last} has no tensors"
    return found


def main() -> int:
    kedge = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/bin/kedge").resolve()
    apptainer = shutil.which("apptainer") or shutil.which("singularity")
    if not apptainer:
        print("skipped: there is no apptainer")
        return 0
    with tempfile.TemporaryDirectory(prefix="kedge-image-") as name:
        folder = pathlib.Path(name)
        (folder / "config.yaml").write_text(CONFIG)
        make_base(folder / "base")
        call(
            [kedge, "container", "make", "config.yaml", "--no-packages", "--base", folder / "base"],
            cwd=folder,
        )
        built = subprocess.run(
            [apptainer, "build", "same.sif", "apptainer.def"],
            cwd=folder / "container",
            capture_output=True,
            text=True,
        )
        image = folder / "container" / "same.sif"
        runner = find_runner(apptainer, image) if built.returncode == 0 else built.stderr[-300:]
        if isinstance(runner, str):
            print(f"skipped: apptainer does not run here: {' '.join(runner.split())}")
            return 0
        call([kedge, "train", "config.yaml", "run.id=outside"], cwd=folder)
        inside = ["kedge", "train", "config.yaml", "run.id=inside"]
        call([*runner, "--bind", name, "--pwd", name, str(image), *inside], cwd=folder)
        runs = folder / "runs" / "default"
        assert digests(runs / "inside") == digests(runs / "outside"), "other weights inside"
        sif = folder / "again.sif"
        call([kedge, "container", "sif", str(folder / "base"), str(sif)], cwd=folder)
        assert sif.stat().st_size > 0
    print("ok: the same weights inside and outside")
    return 0


if __name__ == "__main__":
    sys.exit(main())
