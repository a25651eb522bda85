"""Run the commands that the documentation shows, and fail when one fails.

In README.md and docs/**/*.md, a fenced block opened with

    ```sh run

is run by bash -e, in a temporary folder per page that all blocks of the page share, with build/bin
first on PATH, HOME in that folder and REPO naming the checkout. A block opened with ```text right
after it states the output: its lines must appear in that order, other lines between them do not
matter, and "..." inside a line stands for anything. Runs of digits match any digits, because times
and rates differ.

Blocks opened with plain ```sh are not run (they need root, a cluster, a long time), but every
`kedge VERB` and `./dev VERB` in any sh block must exist.

Usage: check_docs.py [--bin FOLDER] [PAGE...]
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 300


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    info: str
    text: str
    follows: bool  # only blank lines between this block and the one before

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def parse(page: pathlib.Path, text: str) -> list[Block]:
    blocks = []
    inside = None
    body: list[str] = []
    only_blanks = False
    for number, line in enumerate(text.splitlines(), 1):
        if inside is None and (match := re.match(r"```(\w.*)?$", line)):
            inside = Block(page, number, (match[1] or "").strip(), "", only_blanks)
            body = []
        elif inside is not None and line.startswith("```"):
            inside.text = "\n".join(body) + "\n"
            blocks.append(inside)
            inside, only_blanks = None, True
        elif inside is not None:
            body.append(line)
        elif line.strip():
            only_blanks = False
    return blocks


def line_pattern(line: str) -> re.Pattern:
    pattern = re.escape(line.strip()).replace(r"\.\.\.", ".*")
    return re.compile(re.sub(r"\d+", r"\\d+", pattern))


def missing_line(expected: str, output: str) -> str | None:
    """The first expected line that does not appear after those before it."""
    lines = iter(output.splitlines())
    for wanted in filter(str.strip, expected.splitlines()):
        pattern = line_pattern(wanted)
        if not any(pattern.search(line) for line in lines):
            return wanted
    return None


def run_page(blocks: list[Block], root: pathlib.Path, bin_folder: pathlib.Path) -> list[str]:
    errors = []
    # A job that a page left running may still write.
    with tempfile.TemporaryDirectory(prefix="kedge-docs-", ignore_cleanup_errors=True) as folder:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("KEDGE_")
        }
        environment |= {
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "HOME": folder,
            "REPO": str(root),
            "TERM": "dumb",
        }
        for index, block in enumerate(blocks):
            if block.info != "sh run":
                continue
            try:
                done = subprocess.run(
                    ["bash", "-e", "-c", block.text],
                    cwd=folder,
                    text=True,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    check=False,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=TIMEOUT_S,
                    errors="replace",
                )
            except subprocess.TimeoutExpired:
                errors.append(f"{block}: took longer than {TIMEOUT_S} s")
                break
            if done.returncode:
                errors.append(f"{block}: exit status {done.returncode}\n{done.stdout}")
                break
            after = blocks[index + 1] if index + 1 < len(blocks) else None
            if after and after.info == "text" and after.follows:
                line = missing_line(after.text, done.stdout)
                if line is not None:
                    errors.append(f"{after}: not in the output: {line}\n{done.stdout}")
    return errors


def known_verbs(bin_folder: pathlib.Path) -> set[str]:
    """The words that open a line of `kedge --help` after some indentation."""
    done = subprocess.run(
        [bin_folder / "kedge", "--help"], text=True, check=False, capture_output=True
    )
    return set(re.findall(r"^\s+([a-z][\w-]*)", done.stdout, re.M))


def check_verbs(block: Block, verbs: set[str], root: pathlib.Path) -> list[str]:
    errors = []
    for verb in re.findall(r"^(?:\$ )?kedge ([a-z][\w-]*)", block.text, re.M):
        if verb not in verbs:
            errors.append(f"{block}: kedge has no verb '{verb}'")
    for verb in re.findall(r"^(?:\$ )?\./dev ([a-z][\w-]*)", block.text, re.M):
        if not (root / f"tools/dev/{verb}.sh").exists():
            errors.append(f"{block}: ./dev has no verb '{verb}'")
    return errors


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/bin")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    pages = arguments.pages or [*root.glob("README.md"), *sorted(root.glob("docs/**/*.md"))]
    bin_folder = arguments.bin.resolve()
    verbs = known_verbs(bin_folder)
    errors = []
    count = 0
    for page in pages:
        name = page.relative_to(root) if page.is_relative_to(root) else page
        blocks = parse(name, page.read_text())
        for block in blocks:
            if block.info.split(" ")[0] == "sh":
                errors += check_verbs(block, verbs, root)
        count += sum(block.info == "sh run" for block in blocks)
        errors += run_page(blocks, root, bin_folder)
    print("\n".join(errors) or f"docs: {count} blocks of {len(pages)} pages run")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
