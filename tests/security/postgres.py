"""A PostgreSQL of a test's own, in a folder and reached by a socket in it."""

import os
import pathlib
import shutil
import subprocess
import tempfile

FOUND = [pathlib.Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
PROGRAMS = FOUND + sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))


class Postgres:
    def __init__(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-postgres-"))
        self.as_nobody = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
        if self.as_nobody:  # it refuses to run as root
            shutil.chown(self.folder, "nobody")
        data = str(self.folder / "data")
        self.call("initdb", "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "-N")
        with open(self.folder / "data/postgresql.conf", "a") as conf:
            conf.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n")
        self.call("pg_ctl", "-D", data, "-l", str(self.folder / "log"), "-w", "start")

    def call(self, program: str, *arguments: str) -> None:
        command = [*self.as_nobody, str(PROGRAMS[0] / program), *arguments]
        # pg_ctl's child keeps what it inherits: a pipe would never end.
        subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def make_database(self, name: str) -> str:
        self.call("createdb", "-h", str(self.folder), "-U", "test", name)
        return f"postgres://test@/{name}?host={self.folder}"

    def stop(self) -> None:
        self.call("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder)
