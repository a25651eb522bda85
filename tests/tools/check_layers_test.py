"""tools/check_layers.py sees each kind of forbidden include."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_layers.py"
ROOMS = """
kedge_room(core)
kedge_room(config USES core LINKS yaml) # comment
kedge_room(nn TORCH USES core)
"""


def check(files: dict[str, str], rooms: str = ROOMS) -> str:
    """What the check complains about, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        tree = {"CMakeLists.txt": rooms, "src/cli/main.cc": ""} | files
        for name, text in tree.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, CHECK, folder], text=True, check=False,
                              capture_output=True)
        return done.stdout if done.returncode else done.stderr


class CheckLayersTest(unittest.TestCase):
    def test_allowed_includes_pass(self):
        self.assertEqual(check({
            "src/core/a.h": "#include <string>\n",
            "src/config/a.cc": '#include "core/a.h"\n#include "config/internal/b.h"\n',
            "src/nn/a.cc": "#include <torch/torch.h>\n",
            "src/cli/torch/main.cc": '#include "nn/a.h"\n',
        }), "")

    def test_a_room_below_may_not_be_used(self):
        self.assertIn("src/core/a.h:2: core may not use config",
                      check({"src/core/a.h": '\n#include "config/a.h"\n'}))

    def test_a_room_not_named_may_not_be_used(self):
        self.assertIn("nn may not use config", check({"src/nn/a.cc": '#include "config/a.h"\n'}))

    def test_internal_folders_are_private(self):
        self.assertIn("core/internal is private",
                      check({"src/config/a.cc": '#include "core/internal/a.h"\n'}))

    def test_sql_stays_in_the_store(self):
        rooms = ROOMS + "kedge_room(store USES core)\nkedge_room(server USES store)\n"
        statements = ('"SELECT id FROM runs"', '"DELETE FROM users WHERE name = $1"',
                      '" INSERT INTO grants (hash)"', '"UPDATE runs SET name = $2"',
                      '"CREATE TABLE t (id {id})"', '"PRAGMA query_only=ON"')
        for statement in statements:
            text = f"\nrun({statement});\n"
            self.assertIn("src/server/a.cc:2: SQL belongs into store",
                          check({"src/server/a.cc": text}, rooms))
            self.assertEqual(check({"src/store/a.cc": text}, rooms), "")
        talk = '// SELECT is SQL\nsay("selected");\n'
        self.assertEqual(check({"src/server/a.cc": talk}, rooms), "")

    def test_nobody_else_has_a_connection(self):
        rooms = ROOMS + "kedge_room(store USES core)\nkedge_room(server USES store)\n"
        for header in ("<sqlite3.h>", "<postgresql/libpq-fe.h>"):
            self.assertIn("only store may include a database's header",
                          check({"src/server/a.cc": f"#include {header}\n"}, rooms))
        self.assertIn("store/internal is private",
                      check({"src/server/a.cc": '#include "store/internal/database.h"\n'}, rooms))

    def test_libtorch_stays_in_its_rooms(self):
        for header in ("torch/torch.h", "ATen/core/Tensor.h", "c10/util/Half.h"):
            self.assertIn("config may not include libtorch",
                          check({"src/config/a.cc": f"#include <{header}>\n"}))
        self.assertIn("cli may not include libtorch",
                      check({"src/cli/torch/main.cc": "#include <torch/torch.h>\n"}))

    def test_the_program_without_libtorch_uses_no_torch_room(self):
        self.assertIn("cli may not use nn", check({"src/cli/main.cc": '#include "nn/a.h"\n'}))

    def test_rooms_use_only_rooms_above(self):
        self.assertIn("not a room above", check({}, "kedge_room(a USES b)\nkedge_room(b)\n"))

    def test_a_folder_that_is_no_room_is_seen(self):
        self.assertIn("src/extra is no room", check({"src/extra/a.cc": ""}))


if __name__ == "__main__":
    unittest.main()
