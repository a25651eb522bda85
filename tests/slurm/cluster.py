"""A Slurm cluster of its own on this machine: real daemons, several nodes, fake GPUs.

Everything it needs (munge key and socket, configuration, state, logs) is in one folder, its ports
are free ones, and its processes are ended by their pids. Works with Debian's packages slurmctld,
slurmd, slurm-client and munge; SLURM_PREFIX names a folder of a newer Slurm's programs.
"""

import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ["slurmctld", "slurmd", "munged", "sbatch", "squeue", "scontrol", "srun"]

CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={dir}/run/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/run/slurmctld.own.pid
SlurmdPidFile={dir}/run/slurmd.%n.own.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd.%n.log
SrunPortRange={srun_low}-{srun_high}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
ReturnToService=1
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=100000,bf_interval=1,batch_sched_delay=1
SlurmdTimeout=5
SlurmctldTimeout=5
MessageTimeout=5
BatchStartTimeout=10
KillWait=5
CompleteWait=0
InactiveLimit=0
MinJobAge=600
MaxArraySize=16
EpilogMsgTime=0
{accounting}
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{node_low}-{node_high}] \
CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 Gres=gpu:2
PartitionName=main Nodes=n[1-{shared}] Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
PartitionName=spare Nodes=n{nodes} MaxTime=INFINITE DefaultTime=10 State=UP
PartitionName=short Nodes=n1 MaxTime=5 State=UP
"""


def find(program: str) -> str | None:
    places = os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin"]
    prefix = os.environ.get("SLURM_PREFIX")
    if prefix:
        places.insert(0, f"{prefix}/path")
    return shutil.which(program, path=":".join(places))


def missing() -> list[str]:
    return [program for program in PROGRAMS if find(program) is None]


def free_ports(count: int) -> int:
    """The first of `count` ports in a row that nobody listens on."""
    for _ in range(200):
        base = random.randrange(20000, 31000)
        sockets = []
        try:
            for port in range(base, base + count):
                made = socket.socket()
                sockets.append(made)
                made.bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
        finally:
            for made in sockets:
                made.close()
    raise RuntimeError("no free ports")


def wait_until(what: str, condition, limit_s: float = 240):
    """The condition's value once it is true."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {limit_s} s")
        time.sleep(0.1)


class Cluster:
    def __init__(self, folder: pathlib.Path, nodes: int = 3, accounting: str = ""):
        self.dir = folder
        self.nodes = nodes
        # slurmctld 22.05 may crash (build_job_info_resp); its core would lie in the repository.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.processes: dict[str, subprocess.Popen] = {}
        for name in ["etc", "run", "log", "state", "spool", "dev"]:
            (folder / name).mkdir(parents=True)
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "etc/slurm.conf"))
        prefix = os.environ.get("SLURM_PREFIX")
        if prefix:
            self.environment["PATH"] = f"{prefix}/path:{self.environment['PATH']}"
        self._write_config(prefix, accounting)

    def _write_config(self, prefix: str | None, accounting: str) -> None:
        base = free_ports(1 + self.nodes + 60)
        text = CONFIG.format(
            host=socket.gethostname().split(".")[0],
            user=subprocess.check_output(["id", "-un"], text=True).strip(),
            dir=self.dir,
            nodes=self.nodes,
            shared=self.nodes - 1,  # the last one is for whoever kills it
            accounting=accounting or "AccountingStorageType=accounting_storage/none",
            port=base,
            node_low=base + 1,
            node_high=base + self.nodes,
            srun_low=base + self.nodes + 1,
            srun_high=base + self.nodes + 60,
        )
        if prefix:
            text += f"PluginDir={prefix}/usr/lib/x86_64-linux-gnu/slurm-wlm\n"
            (self.dir / "etc/cgroup.conf").write_text("CgroupPlugin=disabled\n")
        (self.dir / "etc/slurm.conf").write_text(text)
        for index in range(2):
            (self.dir / f"dev/nvidia{index}").symlink_to("/dev/null")
        (self.dir / "etc/gres.conf").write_text(
            f"NodeName=n[1-{self.nodes}] Name=gpu File={self.dir}/dev/nvidia[0-1]\n"
        )
        key = self.dir / "etc/munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def spawn(self, name: str, command: list[str]) -> None:
        log = open(self.dir / f"log/{name}.out", "ab")
        self.processes[name] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=self.environment,
            start_new_session=True,
        )

    def start(self) -> None:
        self.start_munge()
        self.start_controller()
        for number in range(1, self.nodes + 1):
            (self.dir / f"spool/n{number}").mkdir()
            self.start_node(number)
        wait_until("the nodes", self._all_idle)

    def start_munge(self) -> None:
        run = self.dir / "run"
        if "munged" in self.processes:
            return
        self.spawn(
            "munged",
            [find("munged"), "--foreground", f"--socket={run}/munge.socket"]
            + [f"--key-file={self.dir}/etc/munge.key", f"--log-file={self.dir}/log/munged.log"]
            + [f"--pid-file={run}/munged.own.pid", f"--seed-file={run}/munged.seed"],
        )
        wait_until("munged", lambda: (run / "munge.socket").exists())

    def start_controller(self) -> None:
        self.spawn("slurmctld", [find("slurmctld"), "-D", "-i"])

    def start_node(self, number: int) -> None:
        command = [find("slurmd"), "-D", "-N", f"n{number}"]
        prefix = os.environ.get("SLURM_PREFIX")
        if prefix:
            command += ["-d", f"{prefix}/path/slurmstepd"]
        self.spawn(f"slurmd.n{number}", command)

    def is_up(self) -> bool:
        return self.call("squeue").returncode == 0

    def _all_idle(self) -> bool:
        text = self.call("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").stdout
        return len(set(text.split())) == self.nodes

    def call(self, *command: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=60
        )

    def stop_process(self, name: str, number: int = signal.SIGTERM) -> None:
        process = self.processes.pop(name)
        process.send_signal(number)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self) -> None:
        if "slurmctld" in self.processes:
            self.call("scancel", "--me")
            try:
                wait_until("empty queue", lambda: not self.call("squeue", "-h").stdout, 5)
            except TimeoutError:
                pass
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._stop_steps()

    def _stop_steps(self) -> None:
        """Job steps outlive a slurmd: those whose environment names this cluster's folder."""
        for entry in pathlib.Path("/proc").iterdir():
            try:
                is_step = (entry / "comm").read_text().strip() == "slurmstepd"
                if is_step and str(self.dir).encode() in (entry / "environ").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except (OSError, ValueError):
                continue
