"""The transcript runner tells a right transcript from a wrong one."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parents[1] / "cli/run.py"


def run(text: str, *options: str) -> tuple[int, str, str]:
    """Exit status, output, and the transcript afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.test")
        path.write_text(text)
        done = subprocess.run([sys.executable, RUNNER, *options, path], text=True, check=False,
                              capture_output=True)
        return done.returncode, done.stdout + done.stderr, path.read_text()


class TranscriptTest(unittest.TestCase):
    def passes(self, text: str) -> None:
        status, output, _ = run(text)
        self.assertEqual(status, 0, output)

    def fails(self, text: str) -> str:
        status, output, _ = run(text)
        self.assertEqual(status, 1, output)
        return output

    def test_equal_output_passes(self):
        self.passes("# says hello\n$ echo hello\nhello\n")

    def test_other_output_fails_with_a_diff(self):
        output = self.fails("$ echo hello\nbye\n")
        self.assertIn("-bye\n+hello", output)

    def test_missing_and_extra_lines_fail(self):
        self.fails("$ printf 'a\\nb\\n'\na\n")
        self.fails("$ echo a\na\nb\n")

    def test_stderr_is_part_of_the_output(self):
        self.passes("$ echo oops >&2\noops\n")

    def test_exit_status_is_compared(self):
        self.passes("$ exit 3\n? 3\n")
        self.fails("$ exit 3\n")
        self.fails("$ true\n? 3\n")

    def test_regex_must_match_the_whole_line(self):
        self.passes("$ echo took 17 ms\n<REGEX> took \\d+ ms\n")
        self.fails("$ echo took 17 ms or so\n<REGEX> took \\d+ ms\n")

    def test_any_matches_no_line_and_many_lines(self):
        self.passes("$ echo a; echo b; echo c\na\n<ANY>\nc\n")
        self.passes("$ echo a; echo c\na\n<ANY>\nc\n")
        self.fails("$ echo a; echo b\na\n<ANY>\nc\n")

    def test_any_gives_lines_back_to_what_follows(self):
        self.passes("$ printf 'a\\nb\\na\\nb\\n'\n<ANY>\na\nb\n")

    def test_commands_may_have_several_lines(self):
        self.passes("$ cat <<END\n> first\n> second\n> END\nfirst\nsecond\n")

    def test_steps_share_a_folder_and_files_do_not(self):
        self.passes("$ echo x > f\n\n# still there\n$ cat f; ls\nx\nf\n")

    def test_home_and_kedge_variables_are_clean(self):
        self.passes("$ cd && pwd\n<TMP>\n\n$ env | grep -c ^KEDGE_\n0\n? 1\n")

    def test_a_file_without_commands_fails(self):
        self.fails("# nothing\n")

    def test_update_rewrites_only_the_failing_step(self):
        before = "# one\n$ echo 5\n<REGEX> \\d\n\n# two\n$ echo b; exit 2\na\n\n# three\n$ true\n"
        status, _, after = run(before, "--update")
        self.assertEqual(status, 0)
        self.assertEqual(after, before.replace("\na\n", "\nb\n? 2\n"))


if __name__ == "__main__":
    unittest.main()
