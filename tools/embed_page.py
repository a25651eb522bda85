"""Write a C++ file that holds the built page, compressed.

Usage: embed_page.py OUTPUT DIST [FILE ...]     FILEs lie under DIST
"""

import gzip
import hashlib
import pathlib
import sys

HEAD = """#include "server/embedded.h"

namespace kedge::server {
namespace {

using std::string_view_literals::operator""sv;

"""


def literal(data: bytes) -> str:
    """A C++ string literal, in pieces that compilers take; octal, so that no digit is misread."""
    pieces = []
    for start in range(0, len(data), 4096):
        text = "".join(
            chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
            for byte in data[start : start + 4096]
        )
        pieces.append(f'    "{text}"')
    return "\n".join(pieces) or '    ""'


def render(dist: pathlib.Path, files: list[pathlib.Path]) -> str:
    entries = []
    for path in sorted(files, key=lambda path: path.relative_to(dist).as_posix()):
        content = path.read_bytes()
        packed = gzip.compress(content, 9, mtime=0)
        etag = hashlib.sha256(content).hexdigest()[:32]
        name = path.relative_to(dist).as_posix()
        entries.append(f'    {{"{name}"sv,\n{literal(packed)}sv,\n     "{etag}"sv}},\n')
    # An array cannot be empty; the last entry is not part of the span.
    return (
        f"{HEAD}constexpr EmbeddedFile kFiles[] = {{\n{''.join(entries)}    {{}},\n}};\n\n"
        "}  // namespace\n\n"
        "std::span<const EmbeddedFile> page_files() {\n"
        f"  return {{kFiles, {len(entries)}}};\n}}\n\n"
        "}  // namespace kedge::server\n"
    )


def main(output: str, dist: str, *files: str) -> None:
    paths = [pathlib.Path(name) for name in files]
    pathlib.Path(output).write_text(render(pathlib.Path(dist), paths))


if __name__ == "__main__":
    main(*sys.argv[1:])
