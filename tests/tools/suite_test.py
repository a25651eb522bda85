"""./dev test counts rightly, whatever its parts do (tools/dev/suite.py)."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))

from parts import PARTS, Part  # noqa: E402
from suite import Suite  # noqa: E402


def shell(name: str, text: str, **more) -> Part:
    return Part(name, ("bash", "-c", text), **more)


class SuiteTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_parts(self, *parts: Part, **needs: dict | str) -> list[str]:
        self.suite = Suite(list(parts), self.folder)
        self.suite.needs = needs
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.suite.run()
            self.suite.summarise(1.0)
        return said.getvalue().splitlines()

    def test_the_last_line_has_the_counts_alone(self):
        said = self.run_parts(
            shell("good", "true"),
            shell("bad", "false"),
            shell("away", "true", needs=("gpu",)),
            gpu="no GPU",
        )
        self.assertEqual(said[-1], "1 passed, 1 failed, 1 skipped")
        self.assertIn("failed: bad", said)
        self.assertIn("skipped away: no GPU", said)

    def test_what_passes_at_the_second_try_is_flaky_and_its_log_is_kept(self):
        once = self.folder / "once"
        said = self.run_parts(
            shell("shaky", f"[ -e {once} ] || {{ touch {once}; echo hm; exit 3; }}")
        )
        self.assertEqual(said[-1], "1 passed, 0 failed, 0 skipped")
        self.assertIn(f"flaky shaky: {self.folder}/shaky.log", said)
        self.assertEqual((self.folder / "shaky.log").read_text(), "hm\n")
        self.assertEqual(self.suite.flaky, [f"shaky: {self.folder}/shaky.log"])

    def test_output_is_never_mixed(self):
        noise = "for i in 1 2 3 4 5; do echo line $i; sleep 0.02; done; exit 1"
        said = self.run_parts(shell("one", noise), shell("two", noise))
        owners = [line.split(" ")[0] for line in said if "| line" in line]
        self.assertEqual(len(owners), 20)  # two tries each
        changes = sum(a != b for a, b in zip(owners, owners[1:]))
        self.assertLessEqual(changes, 3)

    def test_nothing_runs_beside_a_part_that_is_alone(self):
        hold = f"mkdir {self.folder}/held && sleep 0.1 && rmdir {self.folder}/held"
        parts = [shell(f"p{i}", hold, is_alone=True) for i in range(4)]
        self.assertEqual(self.run_parts(*parts)[-1], "4 passed, 0 failed, 0 skipped")

    def test_parts_get_what_their_needs_bring(self):
        part = Part("peer", ("$SHOW", "-c", '[ "$SHOW" = bash ]'), needs=("peers",))
        self.assertEqual(
            self.run_parts(part, peers={"SHOW": "bash"})[-1], "1 passed, 0 failed, 0 skipped"
        )

    def test_a_part_that_lacks_what_it_needs_is_skipped_with_the_reason(self):
        said = self.run_parts(shell("mount", "echo 'skipped: mounting needs root'"))
        self.assertEqual(said[-1], "0 passed, 0 failed, 1 skipped")
        self.assertIn("skipped mount: mounting needs root", said)

    def test_tests_that_are_skipped_within_a_part_are_named(self):
        line = "test_x (a_test.A.test_x) ... skipped 'PostgreSQL is not installed'"
        said = self.run_parts(shell("server", f'echo "{line}"'))
        self.assertIn("skipped within server, test_x: PostgreSQL is not installed", said)
        self.assertEqual(said[-1], "1 passed, 0 failed, 0 skipped")

    def test_names_of_parts_are_unique(self):
        names = [part.name for part in PARTS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
