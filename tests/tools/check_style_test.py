"""tools/check_style.py sees each thing it claims to rule out."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_style.py"


def check(name: str, text: str | bytes) -> str:
    """What the check complains about in a repository of one file, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run([sys.executable, CHECK, folder], text=True, check=False,
                              capture_output=True)
        return done.stdout if done.returncode else done.stderr


class CheckStyleTest(unittest.TestCase):
    def test_ordinary_files_pass(self):
        self.assertEqual(check("src/core/file.cc", "int f() { return 1; }\n"), "")
        self.assertEqual(check("a.md", "See [here](a.md), `a.md` and https://x.org/wo" "rk/.\n"), "")

    def test_columns_count_bytes(self):
        self.assertEqual(check("a.cc", "x" * 100 + "\n"), "")
        self.assertIn("a.cc:1: 101 columns", check("a.cc", "x" * 101 + "\n"))

    def test_long_files_are_seen(self):
        self.assertIn("601 lines", check("a.cc", "\n" * 601))
        self.assertEqual(check("a_test.cc", "\n" * 601), "")

    def test_empty_names_are_seen(self):
        for name in ("src/utils/a.cc", "string_helpers.h", "common.py", "file_utils.cc"):
            self.assertIn("says nothing", check(name, ""), name)
        self.assertEqual(check("src/database.cc", ""), "")

    def test_source_is_ascii(self):
        self.assertIn("not ASCII", check("a.cc", "// na\u00efve\n"))

    def test_task_talk_is_seen(self):
        self.assertIn("talks about the task", check("a.cc", "// ref" "actored\n"))

    def test_open_ends_need_an_issue(self):
        self.assertIn("needs an issue", check("a.cc", "// TO" "DO: later\n"))
        self.assertEqual(check("a.cc", "// TO" "DO(#7): when gcc 13 is the oldest\n"), "")

    def test_machine_paths_are_seen(self):
        self.assertIn("path of one machine", check("a.yaml", "dir: /ro" "ot/data\n"))

    def test_a_test_without_assertion_is_seen(self):
        self.assertIn("a_test.cc:1: test (A, b) asserts nothing",
                      check("a_test.cc", "TEST(A, b) {\n  f();\n}\n"
                            "TEST(A, c) {\n  EXPECT_EQ(1, 1);\n}\n"))

    def test_large_files_are_seen(self):
        self.assertIn("512 KiB", check("a.bin", bytes(600 * 1024)))

    def test_dead_links_and_paths_are_seen(self):
        self.assertIn("leads nowhere", check("a.md", "[x](missing.md)\n"))
        self.assertIn("there is no src/gone.cc", check("a.md", "see `src/gone.cc`\n"))
        self.assertEqual(check("a.md", "```\n[x](missing.md)\n```\n"), "")


if __name__ == "__main__":
    unittest.main()
