#!/usr/bin/env python3
"""What jobs used of what they asked for, from the accounting of a real Slurm (slurmdbd, MariaDB).

Usage: accounting.py KEDGE      SLURM_PREFIX names a newer Slurm, as for jobs.py

Skipped where there is no slurmdbd or no mariadbd.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import Cluster, find, free_ports, missing, wait_until  # noqa: E402

DATABASE = """
create database slurm_acct;
create user slurm@'127.0.0.1' identified by 'slurm';
grant all on slurm_acct.* to slurm@'127.0.0.1';
"""

DAEMON = """
AuthType=auth/munge
AuthInfo={dir}/run/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
LogFile={dir}/log/slurmdbd.log
PidFile={dir}/run/slurmdbd.own.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
CommitDelay=0
{plugins}
"""

CONTROLLER = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={dir}/run/munge.socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
JobAcctGatherFrequency=1"""

# Two busy seconds on one of two cores, and 200 MB that are really used.
WORK = """#!/usr/bin/env python3
import time
held = bytearray(200_000_000)
for i in range(0, len(held), 4096):
    held[i] = 1
end = time.process_time() + 2
while time.process_time() < end:
    pass
time.sleep(2)
"""


def start_database(cluster: Cluster, port: int) -> None:
    user = subprocess.check_output(["id", "-un"], text=True).strip()
    folder = cluster.dir / "state/db"
    subprocess.run(
        ["mariadb-install-db", "--no-defaults", f"--user={user}", f"--datadir={folder}"]
        + ["--auth-root-authentication-method=normal", "--skip-test-db"],
        check=True,
        capture_output=True,
    )
    socket = cluster.dir / "run/db.sock"
    cluster.spawn(
        "mariadbd",
        [find("mariadbd"), "--no-defaults", f"--user={user}", f"--datadir={folder}"]
        + [f"--socket={socket}", "--bind-address=127.0.0.1", f"--port={port}"]
        + [f"--pid-file={cluster.dir}/run/mariadbd.own.pid", "--innodb-buffer-pool-size=64M"]
        + ["--innodb-lock-wait-timeout=900", "--skip-name-resolve", "--skip-log-bin"],
    )

    def tell(text: str) -> bool:
        words = ["mariadb", "--no-defaults", "-S", str(socket), "-u", "root", "-e", text]
        return subprocess.run(words, capture_output=True).returncode == 0

    wait_until("mariadbd", lambda: tell("select 1"))
    if not tell(DATABASE):
        raise RuntimeError("the database could not be made")


def start_accounting(cluster: Cluster, port: int, database: int) -> None:
    cluster.start_munge()
    start_database(cluster, database)
    prefix = os.environ.get("SLURM_PREFIX")
    path = cluster.dir / "etc/slurmdbd.conf"
    path.touch(mode=0o600)
    path.write_text(
        DAEMON.format(
            dir=cluster.dir,
            port=port,
            database=database,
            user=subprocess.check_output(["id", "-un"], text=True).strip(),
            plugins=f"PluginDir={prefix}/usr/lib/x86_64-linux-gnu/slurm-wlm" if prefix else "",
        )
    )
    cluster.spawn("slurmdbd", [find("slurmdbd"), "-D"])
    asked = ["sacctmgr", "-n", "-i", "list", "cluster"]
    wait_until("slurmdbd", lambda: cluster.call(*asked).returncode == 0)
    cluster.call("sacctmgr", "-i", "add", "cluster", "test")


def check_usage(kedge: str, cluster: Cluster, folder: pathlib.Path) -> None:
    script = folder / "work.py"
    script.write_text(WORK)
    script.chmod(0o755)

    def call(*words: str) -> str:
        return subprocess.run(
            [kedge, *words],
            cwd=folder,
            env=cluster.environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        ).stdout

    job = call(
        "submit", "--scheduler", "slurm", "--tasks", "2", "job.cpus=2", "job.memory=1GB",
        "job.time=1h", "job.gpus=1", "--", str(script)
    ).split()[-1]  # fmt: skip

    def used() -> list[dict] | None:
        tasks = json.loads(call("jobs", job, "--json"))[0]["tasks"]
        known = all(task["state"] == "done" and "cpu_s" in task["usage"] for task in tasks)
        return tasks if known and len(tasks) == 2 else None

    for task in wait_until("accounting", used):
        usage = task["usage"]
        assert usage["cpus"] == 2 and usage["gpus"] == 1, usage
        assert usage["time_limit_s"] == 3600, usage
        assert 900 << 20 <= usage["memory_limit_bytes"] <= 1000 << 20, usage
        assert 1.5 <= usage["cpu_s"] <= 30, usage
        assert 190_000_000 <= usage["memory_bytes"] <= 400_000_000, usage
        assert usage["elapsed_s"] >= 3, usage
    text = call("jobs", job)
    assert "next time: job.memory: 953.7 MiB asked for" in text, text
    assert "next time: job.time: 1h00m asked for" in text, text


def main() -> int:
    lacking = missing() + [name for name in ("slurmdbd", "mariadbd") if not find(name)]
    lacking += [] if shutil.which("mariadb-install-db") else ["mariadb-install-db"]
    if lacking:
        print(f"skipped: {', '.join(lacking)} not installed")
        return 0
    with tempfile.TemporaryDirectory(prefix="kedge-acct-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        port = free_ports(2)
        text = CONTROLLER.format(port=port, dir=folder / "c")
        cluster = Cluster(folder / "c", nodes=2, accounting=text)
        try:
            start_accounting(cluster, port, port + 1)
            cluster.start()
            check_usage(str(pathlib.Path(sys.argv[1]).resolve()), cluster, folder)
        finally:
            cluster.stop()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
