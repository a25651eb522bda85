"""Fail when a source file includes a room that its own room may not use.

The kedge_room(NAME [TORCH] [COLD] [JSON] [USES room...]) lines of CMakeLists.txt are the only
truth. A room's internal/ folder is private. Only `store` knows SQL and databases' headers.
libtorch headers stay in the rooms marked TORCH: src/cli/torch, the program with libtorch, uses
those rooms' faces, and the rest of src/cli not even these.
"""

import pathlib
import re
import sys

TORCH_HEADER = re.compile(r'#include\s+[<"](torch|ATen|c10|caffe2)/')
DATABASE_HEADER = re.compile(r'#include\s+[<"](sqlite3\.h|.*libpq-fe\.h|pqxx/.*)[>"]')
# A text that begins like a statement.
SQL = re.compile(
    r'"\s*(SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET|(CREATE|ALTER|DROP) (TABLE|INDEX)|PRAGMA'
    r"|VACUUM)\b"
)
ROOM_HEADER = re.compile(r'#include\s+"(\w+)/([^"]*)"')


class Rooms:
    """The rooms and what each may use."""

    def __init__(self, text: str):
        self.uses: dict[str, list[str]] = {}
        self.torch: set[str] = set()
        self.errors: list[str] = []
        text = re.sub(r"#.*", "", text)
        for match in re.finditer(r"kedge_room\(([^)]*)\)", text):
            name, *words = match[1].split()
            keyword = ""
            self.uses[name] = []
            for word in words:
                if word in ("TORCH", "COLD", "JSON", "USES", "LINKS", "ALONE"):
                    keyword = word
                    if word == "TORCH":
                        self.torch.add(name)
                elif keyword == "USES":
                    if word not in self.uses or word == name:
                        self.errors.append(
                            f"CMakeLists.txt: {name} uses {word}, which is not a " "room above it"
                        )
                    self.uses[name].append(word)
        for name, uses in self.uses.items():
            if name not in self.torch and self.torch & set(uses):
                self.errors.append(f"CMakeLists.txt: {name} uses a TORCH room and is none itself")


def check_includes(text: str, room: str, may_use: set[str], rooms: Rooms) -> list[str]:
    """Errors as "line: what"."""
    errors = []
    for number, line in enumerate(text.splitlines(), 1):
        if TORCH_HEADER.match(line) and room not in rooms.torch:
            errors.append(f"{number}: {room} may not include libtorch")
        if room != "store" and DATABASE_HEADER.match(line):
            errors.append(f"{number}: only store may include a database's header")
        if room != "store" and SQL.search(line):
            errors.append(f"{number}: SQL belongs into store, behind a class with a name")
        match = ROOM_HEADER.match(line)
        if not match or match[1] == room or match[1] not in rooms.uses:
            continue
        if match[1] not in may_use:
            errors.append(f"{number}: {room} may not use {match[1]}")
        elif match[2].startswith("internal/"):
            errors.append(f"{number}: {match[1]}/internal is private")
    return errors


def main(root: pathlib.Path) -> int:
    rooms = Rooms((root / "CMakeLists.txt").read_text())
    errors = rooms.errors
    for path in sorted((root / "src").rglob("*.*")):
        if path.suffix not in (".h", ".cc"):
            continue
        name = path.relative_to(root)
        room = name.parts[1]
        if room == "cli":
            may_use = set(rooms.uses)
            if name.parts[2] != "torch":
                may_use -= rooms.torch
        elif room in rooms.uses:
            may_use = set(rooms.uses[room])
        else:
            errors.append(f"{name}: src/{room} is no room of CMakeLists.txt")
            continue
        text = path.read_text(errors="replace")
        errors += [f"{name}:{error}" for error in check_includes(text, room, may_use, rooms)]
    print("\n".join(errors) or "layers: ok")
    return bool(errors)


if __name__ == "__main__":
    default = pathlib.Path(__file__).resolve().parent.parent
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default))
