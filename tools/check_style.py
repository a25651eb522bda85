"""Fail on what the house style rules out and a program can see.

Lines over 100 columns, files over 600 lines, names that say nothing, non-ASCII source, talk about
the task, tests that assert nothing, TODOs without an issue, paths of one machine, large files, and
paths in Markdown that do not exist. Checks tracked and new files; a rule is one function.
"""

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

CODE = {".cc", ".h", ".py", ".sh", ".cmake", ".ts"}
MAX_COLUMNS = 100
MAX_LINES = 600
MAX_TEST_LINES = 800
MAX_BYTES = 512 * 1024
BANNED_NAME = re.compile(r"(^|_)(utils?|helpers?|common|managers?|base|misc|impl|v2|new)(_|$)")
# Assembled from halves, so that this file passes its own check.
TASK_TALK = re.compile(
    "|".join(
        [
            "as " + "requested",
            "new " + "version",
            "fixed " + "bug",
            "refac" + "tored",
            "improved " + "version",
            "as per the " + "issue",
            "previous " + "implementation",
        ]
    ),
    re.I,
)
MACHINE_PATH = re.compile(r"(?<![\w.])/(wo" + "rk|ro" + "ot|fa" + "rm)/")
OPEN_END = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b(?!\(#\d+\): )")
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(([^)]*)\)", re.M)
ASSERTION = re.compile(
    r"EXPECT_|ASSERT_|\bFAIL\(|\bADD_FAILURE|\b(?:expect|assert|check)_\w+\s*\("
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# What looks like a path of this repository between backquotes.
QUOTED_PATH = re.compile(
    r"`((?:src|docs|tools|tests|bench|examples|cmake|web|\.ci)/[\w./-]*|[\w-]+\.md)`"
)


def lines_of(text: str, pattern: re.Pattern) -> Iterator[tuple[int, re.Match]]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := pattern.search(line):
            yield number, match


def check_shape(path: pathlib.PurePath, text: str) -> Iterator[str]:
    lines = text.splitlines()
    limit = MAX_TEST_LINES if "_test." in path.name else MAX_LINES
    if len(lines) > limit:
        yield f"{path}: {len(lines)} lines; split it (limit {limit})"
    for number, line in enumerate(lines, 1):
        columns = len(line.encode())
        if columns > MAX_COLUMNS and "://" not in line:
            yield f"{path}:{number}: {columns} columns (limit {MAX_COLUMNS})"
    for number, match in lines_of(text, re.compile(r"[^\x00-\x7f]")):
        yield f"{path}:{number}: '{match[0]}' is not ASCII"


def check_name(path: pathlib.PurePath) -> Iterator[str]:
    for part in path.parts:
        match = BANNED_NAME.search(part.split(".")[0].replace("-", "_"))
        if match:
            yield f"{path}: '{match[2]}' in a name says nothing; name the thing it is"


def check_words(path: pathlib.PurePath, text: str) -> Iterator[str]:
    for number, match in lines_of(text, TASK_TALK):
        yield f"{path}:{number}: '{match[0]}' talks about the task, not about the code"
    for number, match in lines_of(text, OPEN_END):
        yield f"{path}:{number}: {match[1]} needs an issue: {match[1]}(#12): ..."


def check_machine_paths(path: pathlib.PurePath, text: str) -> Iterator[str]:
    for number, match in lines_of(text, MACHINE_PATH):
        yield f"{path}:{number}: '{match[0]}' is a path of one machine"


def check_tests(path: pathlib.PurePath, text: str) -> Iterator[str]:
    for match in TEST.finditer(text):
        body = text[match.end() :]
        end = re.search(r"^}", body, re.M)
        if not ASSERTION.search(body[: end.start()] if end else body):
            number = text[: match.start()].count("\n") + 1
            yield f"{path}:{number}: test ({match[1]}) asserts nothing"


def check_markdown(root: pathlib.Path, path: pathlib.PurePath, text: str) -> Iterator[str]:
    """Links are relative to the page; paths between backquotes to the page or the root."""
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        if in_block:
            continue
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:|#", target):
                continue
            if not (root / path.parent / target.split("#")[0]).exists():
                yield f"{path}:{number}: the link to {target} leads nowhere"
        for target in QUOTED_PATH.findall(line):
            if not (root / target).exists() and not (root / path.parent / target).exists():
                yield f"{path}:{number}: there is no {target}"


def check_file(root: pathlib.Path, path: pathlib.PurePath) -> Iterator[str]:
    size = (root / path).stat().st_size
    if size > MAX_BYTES:
        yield f"{path}: {size // 1024} KiB; the repository takes files up to 512 KiB"
        return
    try:
        text = (root / path).read_text()
    except UnicodeDecodeError:
        return
    yield from check_machine_paths(path, text)
    if path.suffix == ".md":
        yield from check_markdown(root, path, text)
    is_script = not path.suffix and text.startswith("#!")
    if path.suffix not in CODE and path.name != "CMakeLists.txt" and not is_script:
        return
    yield from check_name(path)
    yield from check_shape(path, text)
    yield from check_words(path, text)
    if path.name.endswith("_test.cc"):
        yield from check_tests(path, text)


def main(root: pathlib.Path) -> int:
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    errors = []
    for name in sorted(set(listing.split("\0")) - {""}):
        if (root / name).is_file():
            errors += check_file(root, pathlib.PurePath(name))
    print("\n".join(errors) or "style: ok")
    return bool(errors)


if __name__ == "__main__":
    default = pathlib.Path(__file__).resolve().parent.parent
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default))
