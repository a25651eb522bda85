"""tools/check_docs.py runs what it should and sees what is wrong."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools/check_docs.py"
KEDGE = "#!/bin/sh\necho 'verbs:'\necho '  train  train a model'\n"


def check(page: str) -> str:
    """What the check complains about, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "kedge")
        program.write_text(KEDGE)
        program.chmod(0o755)
        path = pathlib.Path(folder, "page.md")
        path.write_text(page)
        done = subprocess.run([sys.executable, CHECK, "--bin", folder, path], text=True,
                              check=False, capture_output=True)
        return done.stdout if done.returncode else done.stderr


class CheckDocsTest(unittest.TestCase):
    def test_a_block_that_works_passes(self):
        self.assertEqual(check("```sh run\nkedge train\n```\n"), "")

    def test_a_failing_command_fails(self):
        self.assertIn("exit status 1", check("```sh run\nfalse\ntrue\n```\n"))

    def test_blocks_of_a_page_share_a_folder(self):
        self.assertEqual(check("```sh run\necho x > f\n```\ntext\n```sh run\ncat f\n```\n"), "")

    def test_plain_blocks_are_not_run(self):
        self.assertEqual(check("```sh\nfalse\n```\n"), "")

    def test_output_is_compared_loosely(self):
        page = ("```sh run\necho start; echo noise; echo took 17 s on host x, ok\n```\n\n"
                "```text\n{}\n```\n")
        self.assertEqual(check(page.format("start\ntook 23 s on ..., ok")), "")
        self.assertIn("not in the output: end", check(page.format("start\nend")))
        self.assertIn("not in the output: start", check(page.format("took 1 s\nstart")))

    def test_text_after_other_prose_is_not_compared(self):
        self.assertEqual(check("```sh run\ntrue\n```\nProse.\n```text\nx\n```\n"), "")

    def test_unknown_verbs_are_seen_in_plain_blocks_too(self):
        self.assertIn("no verb 'tarin'", check("```sh\nkedge tarin x.yaml\n```\n"))
        self.assertIn("./dev has no verb 'biuld'", check("```sh\n./dev biuld\n```\n"))


if __name__ == "__main__":
    unittest.main()
