"""A sweep whose disk is full: no trial is begun in vain, and one that has ended waits with its
result until there is room. Needs root for a small tmpfs; else it is passed over."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

# Fills the disk while it "trains". What it prints last still has room: its output's first page.
PROGRAM = """#!/bin/sh
echo begins
dd if=/dev/zero of=$FULL bs=1k 2>/dev/null
touch $READY
echo loss=0.5
"""


def main() -> int:
    kedge = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="kedge-full-") as name:
        folder = pathlib.Path(name)
        disk = folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=512k", "kedge-test", str(disk)], check=False
        )
        if mounted.returncode != 0:
            print("passed over: no tmpfs can be mounted")
            return 0
        try:
            return check(kedge, folder, disk)
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def check(kedge: str, folder: pathlib.Path, disk: pathlib.Path) -> int:
    full, ready = disk / "full", folder / "ready"
    environment = os.environ | {"FULL": str(full), "READY": str(ready)}
    (folder / "work.sh").write_text(PROGRAM)
    (folder / "work.sh").chmod(0o755)
    (folder / "sweep.yaml").write_text(
        "program: work.sh\nmethod: grid\nmetric: {name: loss}\nparameters: {x: [1, 2]}\n"
    )

    def start(*words: str) -> subprocess.Popen:
        return subprocess.Popen(
            [kedge, *words, "--dir", str(disk / "sweeps")],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    sweep_id = start("sweep", "sweep.yaml", "--agents", "0").communicate()[0].strip()
    agent = start("agent", sweep_id, "--count", "1")
    deadline = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)  # the result is tried, and refused
    assert agent.poll() is None, agent.communicate()[1]
    beside = start("agent", sweep_id)
    said = beside.communicate()[1]
    assert beside.returncode != 0 and "No space left" in said, said
    full.unlink()
    said = agent.communicate(timeout=60)[1]
    assert "trying again until it works" in said, said
    assert agent.returncode == 0, said
    shown = json.loads(start("sweep", "show", sweep_id, "--json").communicate()[0])
    states = [trial["state"] for trial in shown["trials"]]
    assert states[0] == "finished" and shown["trials"][0]["metric"] == 0.5, shown
    print("a full disk: nothing was begun in vain, and the result came when there was room")
    return 0


if __name__ == "__main__":
    sys.exit(main())
