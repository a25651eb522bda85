#!/usr/bin/env python3
"""A training inside an image is the same as outside, to the last bit.

Usage: same.py [KEDGE]      (build/bin/kedge)

The image is made by `kedge container make` on a small root folder of this machine's own programs,
built and run by Apptainer, by hand and as a job. Skipped where there is no apptainer, or where it
may not run here; `PATH=$(bash tools/dev/apptainer.sh):$PATH` brings one.
"""

import hashlib
import os
import pathlib
import re
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

# What may keep Apptainer from starting, and how it is told to do without: root without all of its
# capabilities, no FUSE for whoever is not root.
WAYS = [{}, {"APPTAINER_NO_PRIVS": "1"}, {"APPTAINER_USERNS": "1"}, {"APPTAINER_UNSQUASH": "1"}]


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
        # The C library in all its parts; kedge brings the others.
        if re.match(r"\s*(/lib|lib(c|m|dl|rt|util|pthread|resolv)\.so)", line):
            copy_library(line, folder)


def copy_library(line: str, folder: pathlib.Path) -> None:
    for word in line.split():
        if word.startswith("/"):
            target = folder / word[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy(os.path.realpath(word), target)


def find_way(apptainer: str, image: pathlib.Path) -> dict | str:
    """The variables with which a program runs here, or what it says when none does."""
    said = ""
    for variables in WAYS:
        done = subprocess.run(
            [apptainer, "exec", str(image), "/bin/ls", "/opt/kedge/bin"],
            capture_output=True,
            text=True,
            env=os.environ | variables,
        )
        if done.returncode == 0 and "kedge-train" in done.stdout:
            return variables
        said = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it says nothing"
    return said


def digests(folder: pathlib.Path) -> dict[str, str]:
    last = folder / "checkpoints" / "last"
    found = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in last.glob("*.safetensors")}
    assert len(found) > 1, f"{last} has no tensors"
    return found


def run_jobs(kedge: pathlib.Path, folder: pathlib.Path, environment: dict) -> None:
    """A training, and a program that asks which kedge it is given: the image's own."""
    words = ["--scheduler", "local", "job.container=same.sif", "job.cpus=1", "job.memory=1GB"]
    training = ["--name", "job", "config.yaml", "run.id=job"]
    asking = ["--name", "which", "--", "sh", "-c", "command -v kedge"]
    for job in (training, asking):
        call([kedge, "submit", *words, *job], cwd=folder, env=environment)
    done = subprocess.run([kedge, "jobs", "--wait"], cwd=folder, capture_output=True, text=True)
    logs = {name: call([kedge, "logs", name], cwd=folder).stdout for name in ("job", "which")}
    assert done.returncode == 0, f"{done.stdout}{logs}"
    assert logs["which"].rstrip().endswith(" /opt/kedge/bin/kedge"), logs["which"]


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
        image = folder / "same.sif"
        built = subprocess.run(
            [kedge, "container", "sif", "apptainer.def", str(image)],
            cwd=folder / "container",
            capture_output=True,
            text=True,
        )
        way = find_way(apptainer, image) if built.returncode == 0 else built.stderr[-300:]
        if isinstance(way, str):
            print(f"skipped: apptainer does not run here: {' '.join(way.split())}")
            return 0
        call([kedge, "train", "config.yaml", "run.id=outside"], cwd=folder)
        inside = ["kedge", "train", "config.yaml", "run.id=inside"]
        environment = os.environ | way
        place = ["--bind", name, "--pwd", name, str(image)]
        call([apptainer, "exec", *place, *inside], cwd=folder, env=environment)
        runs = folder / "runs" / "default"
        outside = digests(runs / "outside")
        assert digests(runs / "inside") == outside, "other weights inside"
        run_jobs(kedge, folder, environment)
        assert digests(runs / "job") == outside, "other weights in a job"
    print("ok: the same weights inside and outside")
    return 0


if __name__ == "__main__":
    sys.exit(main())
