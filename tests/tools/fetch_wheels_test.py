"""tools/dev/fetch_wheels.py: all or nothing, whatever is wrong with a download."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

FETCH = pathlib.Path(__file__).resolve().parents[2] / "tools/dev/fetch_wheels.py"


class FetchWheelsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.index = self.root / "index"
        self.index.mkdir()
        self.into = self.root / "cache/thing-1.0"

    def make_wheel(self, name: str) -> str:
        """Put a wheel into the index; return its "name==version sha256"."""
        path = self.index / f"{name}-1.0-py3-none-manylinux_2_27_x86_64.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{name}/lib/a.so", "library")
            wheel.writestr(f"{name}/doc/a.txt", "text")
            info = f"{name}-1.0.dist-info"
            wheel.writestr(f"{info}/METADATA",
                           f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"
                           "Tag: py3-none-manylinux_2_27_x86_64\n")
            wheel.writestr(f"{info}/RECORD", "")
        return f"{name}==1.0 {hashlib.sha256(path.read_bytes()).hexdigest()}"

    def fetch(self, *wheels: str) -> subprocess.CompletedProcess:
        environment = os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index)}
        return subprocess.run([sys.executable, FETCH, "--into", self.into, "--keep",
                               "one/lib/ two/lib/", "--", *wheels], env=environment, text=True,
                              check=False, capture_output=True)

    def left_behind(self) -> list[str]:
        names = {path.name.removeprefix(self.into.name) for path in self.into.parent.iterdir()}
        return sorted(names - {"", ".lock"})

    def test_unpacks_only_what_is_kept(self):
        done = self.fetch(self.make_wheel("one"), self.make_wheel("two"))
        self.assertEqual(done.returncode, 0, done.stderr)
        files = sorted(str(path.relative_to(self.into)) for path in self.into.rglob("*.*"))
        self.assertEqual(files, ["one/lib/a.so", "two/lib/a.so"])
        self.assertEqual(self.left_behind(), [])

    def test_a_wrong_checksum_leaves_nothing(self):
        self.make_wheel("one")
        done = self.fetch(f"one==1.0 {'0' * 64}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has SHA-256", done.stderr)
        self.assertFalse(self.into.exists())
        self.assertEqual(list(self.into.parent.rglob("*.whl")), [])

    def test_a_missing_wheel_keeps_those_that_arrived(self):
        one = self.make_wheel("one")
        done = self.fetch(one, f"two==1.0 {'0' * 64}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not download two==1.0", done.stderr)
        self.assertFalse(self.into.exists())
        next(self.index.glob("one-*")).unlink()
        done = self.fetch(one, self.make_wheel("two"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.into / "one/lib/a.so").exists())

    def test_a_half_unpacked_folder_is_not_used(self):
        partial = self.into.with_name(self.into.name + ".partial")
        (partial / "one/lib").mkdir(parents=True)
        (partial / "one/lib/stale.so").write_text("")
        self.assertEqual(self.fetch(self.make_wheel("one")).returncode, 0)
        self.assertFalse((self.into / "one/lib/stale.so").exists())

    def test_what_is_there_is_left_alone(self):
        self.into.mkdir(parents=True)
        self.assertEqual(self.fetch("one==1.0 0").returncode, 0)
        self.assertEqual(list(self.into.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
