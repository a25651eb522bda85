#!/usr/bin/env python3
"""Wrong inputs, each with the exit code and the essential words of its message.

Usage: bad_inputs.py [--bin FOLDER] [NAME ...]     (tables in bad_inputs/; default: all)

A table is a list of cases:

    ! printf 'train: {epochs: 1}\\n' > config.yaml     prepares the table's folder
    $ kedge train nosuch.yaml                         a bash command; <> in it is a new line
    2 cannot read config file | kedge init            the exit code, and words that must appear

Each table runs in a fresh folder, in the environment of the transcripts (run.py). Whatever the
input, a message is one error with its reason, no program crashes, and what ends with 2 (wrong
usage) has made no run, no sweep and no job.
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

from run import ROOT, clean_environment

TABLES = pathlib.Path(__file__).resolve().parent / "bad_inputs"
TIMEOUT_S = 120
CRASH = re.compile(r"terminate called|what\(\):|Segmentation fault|Aborted|core dumped|Traceback")
MADE = ("runs", "sweeps", "jobs")


@dataclasses.dataclass
class Case:
    place: str
    command: str
    status: int = 0
    words: tuple[str, ...] = ()


def parse(path: pathlib.Path) -> tuple[list[str], list[Case]]:
    """What prepares the folder, and the cases."""
    setup: list[str] = []
    cases: list[Case] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path.name}:{number}"
        if line.startswith("! "):
            setup.append(line[2:])
        elif line.startswith("$ "):
            cases.append(Case(place, line[2:].replace("<>", "\n")))
        elif match := re.fullmatch(r"(\d+) (.+)", line):
            cases[-1].status = int(match[1])
            cases[-1].words = tuple(word.strip() for word in match[2].split(" | "))
        elif line and not line.startswith("#"):
            raise ValueError(f"{place}: '{line}' is neither a command nor what it must say")
    return setup, cases


def made_in(folder: str) -> set[pathlib.Path]:
    return {path for name in MADE for path in pathlib.Path(folder, name).glob("*/*")}


def find_fault(case: Case, output: str, status: int, made: set[pathlib.Path]) -> str:
    if crash := CRASH.search(output):
        return f"it crashed: {crash[0]}"
    if status != case.status:
        return f"it ended with {status}, not {case.status}"
    if output.count("kedge: error:") != 1:
        return f"{output.count('kedge: error:')} errors, not one"
    for word in case.words:
        if word not in output:
            return f"it does not say '{word}'"
    if status == 2 and made:
        return f"it made {min(made)}"
    return ""


def run_table(path: pathlib.Path, bin_folder: pathlib.Path) -> tuple[int, list[str]]:
    """How many cases, and a report of each that failed."""
    setup, cases = parse(path)
    reports = []
    with tempfile.TemporaryDirectory(prefix="kedge-bad-", ignore_cleanup_errors=True) as folder:
        environment = clean_environment(folder, bin_folder)

        def run(command: str) -> subprocess.CompletedProcess:
            return subprocess.run(
                ["timeout", "--kill-after=5", str(TIMEOUT_S), "bash", "-c", command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )

        for command in setup:
            if (done := run(command)).returncode:
                return len(cases), [f"{path.name}: cannot prepare: {command}\n{done.stdout}"]
        for case in cases:
            before = made_in(folder)
            done = run(case.command)
            if fault := find_fault(case, done.stdout, done.returncode, made_in(folder) - before):
                reports.append(f"{case.place}: {case.command}\n  {fault}; it said:\n{done.stdout}")
    return len(cases), reports


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    tables = [
        path
        for path in sorted(TABLES.glob("*.txt"))
        if not arguments.names or path.stem in arguments.names
    ]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda path: run_table(path, arguments.bin.resolve()), tables))
    reports = [report for _, some in done for report in some]
    print("\n".join(reports))
    count = sum(number for number, _ in done)
    print(f"{count - len(reports)} of {count} bad inputs are refused as they should be")
    return bool(reports)


if __name__ == "__main__":
    sys.exit(main())
