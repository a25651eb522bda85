#!/usr/bin/env python3
"""Run command-line transcripts: tests that read like a terminal session.

Usage: run.py [--update] [--bin FOLDER] [FILE.test ...]     (default: all beside this file)

A .test file is a list of steps. Each file runs in a fresh temporary folder, with FOLDER (default:
build/bin) first on PATH, HOME in that folder, no KEDGE_* variables and no keys, and FIXTURES
pointing at tests/fixtures. Steps of one file share the folder; each is a bash command of its own.

    # a comment, or an empty line before a step
    $ kedge data get nosuch          the command (the text after "$ ")
    > second line of the command     goes on, for here-documents and loops
    kedge: error: ...                expected output, stdout and stderr together, line by line
    <REGEX> took \\d+ ms              a line that must match the whole expression
    <ANY>                            any number of lines, also none
    ? 2                              the exit status; 0 when the line is missing

Trailing blanks and empty lines before the next step do not count; the temporary folder's path is
printed as <TMP>. --update writes what was seen into the steps that failed.
"""

import argparse
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 120


@dataclasses.dataclass
class Step:
    """One command and what it must print; `preface` is the text before it."""

    preface: list[str]
    command: list[str]
    expected: list[str]
    status: int = 0

    def render(self) -> list[str]:
        first, *rest = self.command
        lines = [*self.preface, f"$ {first}", *(f"> {line}" for line in rest), *self.expected]
        return lines + [f"? {self.status}"] if self.status else lines


def trim(lines: list[str]) -> list[str]:
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def parse(text: str) -> list[Step]:
    steps: list[Step] = []
    preface: list[str] = []
    after_status = True
    for line in text.splitlines():
        if line.startswith("$ "):
            if steps and not after_status:
                preface = split_preface(steps[-1])
            steps.append(Step(preface, [line[2:]], []))
            preface, after_status = [], False
        elif after_status:
            if line and not line.startswith("#"):
                raise ValueError(f"'{line}' follows no command")
            preface.append(line)
        elif line.startswith("> ") and not steps[-1].expected:
            steps[-1].command.append(line[2:])
        elif match := re.fullmatch(r"\? (\d+)", line):
            steps[-1].status = int(match[1])
            after_status = True
        else:
            steps[-1].expected.append(line)
    if steps and not after_status:
        split_preface(steps[-1])
    for step in steps:
        step.expected = trim(step.expected)
    return steps


def split_preface(step: Step) -> list[str]:
    """Take the comments and empty lines off a step's end: they belong to the next one."""
    lines = step.expected
    end = len(lines)
    while end and (not lines[end - 1] or lines[end - 1].startswith("# ")):
        end -= 1
    # Comments count only after an empty line: a program may print "# ..." itself.
    while end < len(lines) and lines[end]:
        end += 1
    step.expected = lines[:end]
    return lines[end:]


def line_matches(pattern: str, line: str) -> bool:
    if pattern.startswith("<REGEX> "):
        return re.fullmatch(pattern[len("<REGEX> ") :], line) is not None
    return pattern == line


def matches(expected: list[str], actual: list[str]) -> bool:
    """Whether the lines fit; <ANY> takes as few as possible, with backtracking."""
    reachable = {0}  # how many actual lines the patterns so far can have eaten
    for pattern in expected:
        if pattern == "<ANY>":
            reachable = set(range(min(reachable), len(actual) + 1)) if reachable else set()
        else:
            reachable = {
                n + 1 for n in reachable if n < len(actual) and line_matches(pattern, actual[n])
            }
    return len(actual) in reachable


def clean_environment(folder: str, bin_folder: pathlib.Path) -> dict[str, str]:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("KEDGE_")
        and key not in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")
        and not re.search("TOKEN|SECRET|PASSWORD|_KEY", key)  # kedge submit speaks of them
    }
    return kept | {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "CUDA_VISIBLE_DEVICES": "",  # the transcripts are of a machine without a GPU
        "HOME": folder,
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "FIXTURES": str(ROOT / "tests/fixtures"),
    }


def run_step(step: Step, folder: str, environment: dict[str, str]) -> tuple[list[str], int]:
    try:
        done = subprocess.run(
            ["bash", "-c", "\n".join(step.command)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        output, status = (error.stdout or b"") + b"\n(stopped: took too long)\n", 124
    text = output.decode(errors="replace").replace(folder, "<TMP>")
    return trim(text.splitlines()), status


def run_file(path: pathlib.Path, bin_folder: pathlib.Path, update: bool) -> str:
    """Run a transcript; return what differs, or nothing."""
    steps = parse(path.read_text())
    if not steps:
        return f"{path}: no commands\n"
    report = []
    with tempfile.TemporaryDirectory(prefix="kedge-cli-") as folder:
        environment = clean_environment(folder, bin_folder)
        for step in steps:
            output, status = run_step(step, folder, environment)
            if matches(step.expected, output) and status == step.status:
                continue
            seen = dataclasses.replace(step, expected=output, status=status)
            report += difflib.unified_diff(
                step.render()[len(step.preface) :],
                seen.render()[len(step.preface) :],
                f"{path.name}, expected",
                "seen",
                lineterm="",
                n=99,
            )
            if update:
                step.expected, step.status = output, status
    if update and report:
        path.write_text("".join(f"{line}\n" for step in steps for line in step.render()))
        return ""
    return "".join(f"{line}\n" for line in report)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    files = arguments.files or sorted(pathlib.Path(__file__).parent.glob("*.test"))
    bin_folder = arguments.bin.resolve()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda path: run_file(path, bin_folder, arguments.update), files))
    print("".join(reports), end="")
    failed = sum(bool(report) for report in reports)
    print(f"{len(files) - failed} of {len(files)} transcripts pass")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
