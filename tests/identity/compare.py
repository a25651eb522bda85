#!/usr/bin/env python3
"""Two programs train the same, bit by bit: the proof that a change of the code changes no training.

Usage: compare.py OLD_KEDGE NEW_KEDGE [--only TEXT] [--quick] [--list]

Every model x 1, 2, 3 ranks x fp32, bf16 x accumulation 1, 3, and what else changes a training:
optimizers, schedules, averaging, losses, data, runs begun by the old program and gone on with by
the new one (rows.py). Of each, both programs must leave the same weights, buffers, optimizer,
average, meters, random generators, state (place in the data, history, schedule, best), metrics,
tables and images (ends.py). The order of the samples is part of the state: `samples_hash` is a hash
over (epoch, position, index) of all that were seen.

A row that differs is trained by the old program once more. If that differs too, the row itself is
at fault: it must be reproducible. The folder of a row that differs is kept.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

from ends import RUN, End, differences, run_kedge, train
from rows import CONFIG, Row, all_rows, write_data

KINDS = ("models", "optimizers", "schedules")


class Refused(Exception):
    """A program does not train a row; the text is why."""


def program(text: str) -> pathlib.Path:
    path = pathlib.Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no {path}")
    return path


def read_list(kedge: pathlib.Path, kind: str) -> list[str]:
    done = run_kedge(kedge, pathlib.Path.cwd(), "list", kind)
    if done.returncode != 0:
        sys.exit(f"{kedge} list {kind}: {done.stdout}")
    return [line.split()[0] for line in done.stdout.splitlines()]


def attempt(kedge: pathlib.Path, folder: pathlib.Path, values: list[str], code: int = 0) -> None:
    if error := train(kedge, folder, values, code):
        raise Refused(error)


def begin_row(old: pathlib.Path, row: Row, scratch: pathlib.Path) -> None:
    """Makes the folder that every training of the row starts from, with its first attempt if any.

    Once, because how much of its log a killed process leaves depends on the moment.
    """
    folder = scratch / "begun"
    folder.mkdir()
    (folder / "config.yaml").write_text(CONFIG)
    if row.begin:
        attempt(old, folder, [*row.keys(), *row.begin], row.begin_code)


def train_row(kedge: pathlib.Path, row: Row, scratch: pathlib.Path, name: str) -> End:
    folder = scratch / name
    shutil.copytree(scratch / "begun", folder, symlinks=True)
    attempt(kedge, folder, row.keys())
    return End(folder / "runs/default" / RUN)


def judge(args: argparse.Namespace, row: Row, scratch: pathlib.Path) -> tuple[bool, str]:
    """Whether the row is the same, and a line about it."""
    try:
        begin_row(args.old, row, scratch)
        old = train_row(args.old, row, scratch, "old")
    except Refused as refused:
        return False, f"the old program does not train it: {refused}"
    try:
        new = train_row(args.new, row, scratch, "new")
    except Refused as refused:
        return False, f"DIFFERS: the new program does not train it: {refused}"
    if not (old.tensors and old.metrics):
        return False, "nothing to compare was left"
    found = differences(old, new)
    if not found:
        return True, f"same ({len(old.tensors)} tensors, {len(old.metrics)} metrics)"
    if again := repeat(args.old, row, scratch, old):
        return False, f"not reproducible by the old program: {again}"
    return False, f"DIFFERS in {len(found)} of {len(old.all())}: {found[0]}"


def repeat(kedge: pathlib.Path, row: Row, scratch: pathlib.Path, old: End) -> str | None:
    """How the old program differs from itself, if it does."""
    try:
        again = train_row(kedge, row, scratch, "again")
    except Refused as refused:
        return str(refused)
    found = differences(old, again)
    return found[0] if found else None


def compare(args: argparse.Namespace, rows: list[Row], scratch: pathlib.Path) -> int:
    """The number of rows that are not the same."""
    failed = 0
    for number, row in enumerate(rows):
        folder = scratch / f"row-{number}"
        folder.mkdir()
        (folder / "data").symlink_to(scratch / "data")
        is_same, line = judge(args, row, folder)
        print(f"{row.label()}: {line}" + ("" if is_same else f" [{folder}]"), flush=True)
        failed += not is_same
        if is_same:
            shutil.rmtree(folder)
    return failed


def choose_rows(args: argparse.Namespace) -> list[Row]:
    lists = {kind: read_list(args.old, kind) for kind in KINDS}
    for kind, names in lists.items():
        if missing := set(names) - set(read_list(args.new, kind)):
            sys.exit(f"the new program lacks {kind}: {', '.join(sorted(missing))}")
    rows = [row for row in all_rows(lists, args.quick) if args.only in row.label()]
    return rows or sys.exit(f"no row has '{args.only}' in its name")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=program, metavar="OLD_KEDGE")
    parser.add_argument("new", type=program, metavar="NEW_KEDGE")
    parser.add_argument("--only", default="", help="only rows whose name has this text")
    parser.add_argument("--quick", action="store_true", help="two rows a model instead of twelve")
    parser.add_argument("--list", action="store_true", help="print the rows and stop")
    args = parser.parse_args()
    rows = choose_rows(args)
    if args.list:
        print("\n".join(row.label() for row in rows))
        return 0
    started = time.monotonic()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kedge-identity-"))
    write_data(scratch / "data")
    failed = compare(args, rows, scratch)
    minutes = (time.monotonic() - started) / 60
    print(f"{len(rows)} rows, {len(rows) - failed} the same, {failed} not, in {minutes:.1f} min")
    if not failed:
        shutil.rmtree(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
