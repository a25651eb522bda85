"""Builds, fetches what the parts of parts.py need, runs them and counts: what ./dev test starts.

Parts that disturb nobody run side by side, one for each core (at most MOST_BESIDE); the others
follow one by one. A part's line is printed when it has ended, with its output when it failed, so
that the output of two is never mixed. What failed is tried once more at the end, with nothing
beside it.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

from parts import PARTS, SANITIZED, TESTS, Part

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / "build/test"
MOST_BESIDE = 4
TIMEOUT_S = 30 * 60
SHOWN_LINES = 300
# A whole part that lacks what it needs; tests within one, as unittest and the journeys say it.
LACKS = re.compile(r"^skipped: (.*)", re.M)
SKIPPED_TEST = re.compile(
    r"^(\w+) \(.*\.\.\. skipped ['\"](.*)['\"]$|^skipped \((.*?)\)  (.*?)  \d+ ms$", re.M
)


@dataclasses.dataclass
class Outcome:
    """How one try of a part ended; `lacks`: why it was not run; `skipped`: tests within it."""

    code: int = 0
    seconds: float = 0
    lacks: str = ""
    skipped: list[str] = dataclasses.field(default_factory=list)


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


class Suite:
    def __init__(self, parts: list[Part], logs: pathlib.Path = LOGS) -> None:
        self.parts = parts
        self.logs = logs
        self.needs: dict[str, dict[str, str] | str] = {}  # what it brings, or why it is not there
        self.running: set[subprocess.Popen] = set()
        self.lock = threading.Lock()
        self.passed = 0
        self.failed: list[str] = []
        self.flaky: list[str] = []
        self.skipped: list[str] = []  # parts
        self.remarks: list[str] = []  # tests within parts that ran

    def say(self, text: str) -> None:
        with self.lock:
            print(text, flush=True)

    def start(self, command: tuple[str, ...], **options) -> subprocess.Popen:
        process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **options)
        with self.lock:
            self.running.add(process)
        return process

    def wait(self, process: subprocess.Popen, timeout_s: float | None = None) -> int:
        """Its status; 124 when it took longer. What it left behind is ended with it."""
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = 124
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with self.lock:
            self.running.discard(process)
        return code

    def stop(self) -> None:
        with self.lock:
            for process in self.running:
                os.killpg(process.pid, signal.SIGKILL)

    # ---- what parts need ------------------------------------------------------------------

    def fetch(self) -> None:
        """Everything that the parts need or use, one after the other: apt has one lock."""
        wanted = sorted({name for part in self.parts for name in (*part.needs, *part.uses)})
        for name in wanted:
            start = time.monotonic()
            process = self.start(
                ("bash", "tools/dev/needs.sh", name), stdout=subprocess.PIPE, text=True
            )
            said = process.stdout.read()
            lines = said.strip().splitlines()
            if self.wait(process):
                self.needs[name] = lines[-1] if lines else f"{name} cannot be had here"
            else:
                self.needs[name] = dict(line.split("=", 1) for line in lines if "=" in line)
            if time.monotonic() - start > 5:
                self.say(f"{name + ':':<14} fetched in {duration(time.monotonic() - start)}")

    def environment(self, part: Part) -> dict[str, str]:
        brought = os.environ.copy()
        for name in (*part.needs, *part.uses):
            found = self.needs[name]
            brought |= found if isinstance(found, dict) else {}
        return brought

    # ---- one part --------------------------------------------------------------------------

    def attempt(self, part: Part, log: pathlib.Path) -> Outcome:
        for name in part.needs:
            if isinstance(why := self.needs[name], str):
                return Outcome(lacks=why)
        environment = self.environment(part)
        command = tuple(
            environment[word[1:]] if word.startswith("$") else word for word in part.command
        )
        start = time.monotonic()
        with log.open("wb") as output:
            process = self.start(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            code = self.wait(process, TIMEOUT_S)
        text = log.read_text(errors="replace")
        seconds = time.monotonic() - start
        if code:
            return Outcome(code, seconds)
        if lacks := LACKS.search(text):
            return Outcome(lacks=lacks[1])
        skipped = [f"{m[1] or m[4]}: {m[2] or m[3]}" for m in SKIPPED_TEST.finditer(text)]
        return Outcome(0, seconds, skipped=skipped)

    def report(self, part: Part, outcome: Outcome, remark: str = "") -> None:
        """A line for a part that has ended well, or was not run."""
        if outcome.lacks:
            self.skipped.append(f"{part.name}: {outcome.lacks}")
            self.say(f"{part.name:<14} SKIPPED {outcome.lacks}")
            return
        with self.lock:
            self.passed += 1
        self.remarks += [f"{part.name}, {test}" for test in outcome.skipped]
        if outcome.skipped:
            remark += f" ({len(outcome.skipped)} of its tests skipped)"
        self.say(f"{part.name:<14} ok      {duration(outcome.seconds)}{remark}")

    def show_failure(self, part: Part, outcome: Outcome, log: pathlib.Path, what: str) -> None:
        lines = log.read_text(errors="replace").splitlines()
        why = (
            f"no end after {duration(TIMEOUT_S)}"
            if outcome.code == 124
            else f"status {outcome.code}"
        )
        left_out = [f"... {len(lines) - SHOWN_LINES} lines before: {self.shown(log)}"]
        shown = lines if len(lines) <= SHOWN_LINES else left_out + lines[-SHOWN_LINES:]
        self.say(
            "\n".join(
                [
                    *(f"{part.name} | {line}" for line in shown),
                    f"{part.name:<14} {what}  {duration(outcome.seconds)}, {why}",
                ]
            )
        )

    def shown(self, log: pathlib.Path) -> pathlib.Path:
        return log.relative_to(ROOT) if log.is_relative_to(ROOT) else log

    def first_try(self, part: Part) -> Part | None:
        """The part when it must be tried again."""
        log = self.logs / f"{part.name}.log"
        outcome = self.attempt(part, log)
        if outcome.code:
            self.show_failure(part, outcome, log, "failed, to be tried again:")
            return part
        self.report(part, outcome)
        return None

    def second_try(self, part: Part) -> None:
        log = self.logs / f"{part.name}.again.log"
        outcome = self.attempt(part, log)
        if outcome.code:
            self.show_failure(part, outcome, log, "FAILED")
            self.failed.append(part.name)
            return
        first = self.shown(self.logs / f"{part.name}.log")
        self.flaky.append(f"{part.name}: {first}")
        self.report(part, outcome, f", FLAKY: the first try failed, see {first}")

    def run(self) -> None:
        again = []
        with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_BESIDE)) as pool:
            again += pool.map(self.first_try, [part for part in self.parts if not part.is_alone])
        again += [self.first_try(part) for part in self.parts if part.is_alone]
        for part in filter(None, again):
            self.second_try(part)

    def summarise(self, seconds: float) -> None:
        for line in self.skipped:
            print(f"skipped {line}")
        for line in self.remarks:
            print(f"skipped within {line}")
        for line in self.flaky:
            print(f"flaky {line}")
        if self.failed:
            print(f"failed: {' '.join(self.failed)}")
        print(f"took {duration(seconds)}")
        print(
            f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped",
            flush=True,
        )


# ---- which parts -----------------------------------------------------------------------------


def quick_parts() -> list[Part]:
    return [
        dataclasses.replace(part, command=part.quick, is_alone=False)
        for part in PARTS
        if part.quick
    ]


def choose(names: list[str]) -> list[Part]:
    known = {part.name: part for part in PARTS}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"dev: test: there is no part '{unknown[0]}'; there are: {' '.join(known)}")
    return [part for part in PARTS if part.name in names] if names else PARTS


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--asan", dest="sanitizer", action="store_const", const="asan")
    parser.add_argument("--tsan", dest="sanitizer", action="store_const", const="tsan")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    targets = ["all"]
    parts = choose(arguments.names)
    if arguments.list:
        print("\n".join(part.name for part in parts))
        return 0
    if arguments.quick:
        parts = quick_parts()
        targets = ["kedge", "kedge-train", *TESTS]
    if arguments.sanitizer:
        parts = SANITIZED[arguments.sanitizer]
        targets = [f"--{arguments.sanitizer}", "all"]
    LOGS.mkdir(parents=True, exist_ok=True)
    suite = Suite(parts)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    start = time.monotonic()
    try:
        fetching = threading.Thread(target=suite.fetch, daemon=True)
        fetching.start()
        if subprocess.run(
            ["bash", "tools/dev/build.sh", *targets], cwd=ROOT, check=False
        ).returncode:
            print(f"the build failed\n0 passed, 1 failed, {len(parts)} skipped")
            return 1
        fetching.join()
        suite.run()
    finally:
        suite.stop()
    suite.summarise(time.monotonic() - start)
    return bool(suite.failed)


if __name__ == "__main__":
    sys.exit(main())
