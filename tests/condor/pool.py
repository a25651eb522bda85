"""A private HTCondor pool on one machine: real daemons, a few machines with made-up sizes and GPUs.

All of it is in one folder and listens on one port of 127.0.0.1. HTCondor runs no jobs of root, so
that root becomes `nobody` for the pool and everything that talks to it.
"""

import getpass
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

# Capability and memory as drivers report them; the first machine has what nobody wants any more.
GPUS = [
    ("NVIDIA GeForce GTX 1080 Ti", "6.1", 11178),
    ("NVIDIA A40", "8.6", 45634),
    ("NVIDIA A100-SXM4-40GB", "8.0", 40536),
]

CONFIG = """
RELEASE_DIR = {release}
LOCAL_DIR = {folder}
LOCAL_CONFIG_FILE =
LOCAL_CONFIG_DIR =
BIN = $(RELEASE_DIR)/bin
SBIN = $(RELEASE_DIR)/sbin
LIB = $(RELEASE_DIR)/lib/condor
LIBEXEC = $(RELEASE_DIR)/libexec/condor
SHARE = $(RELEASE_DIR)/share/condor
LOG = {folder}/log
LOCK = {folder}/lock
RUN = {folder}/run
SPOOL = {folder}/spool
EXECUTE = {folder}/execute
CONDOR_HOST = 127.0.0.1
NETWORK_INTERFACE = 127.0.0.1
NETWORK_HOSTNAME = localhost
BIND_ALL_INTERFACES = False
ENABLE_IPV6 = False
USE_SHARED_PORT = True
SHARED_PORT_PORT = {port}
COLLECTOR_HOST = 127.0.0.1:{port}
DAEMON_SOCKET_DIR = {folder}/run/sock
UID_DOMAIN = pool
FILESYSTEM_DOMAIN = pool
TRUST_UID_DOMAIN = True
SEC_DEFAULT_AUTHENTICATION = REQUIRED
SEC_DEFAULT_AUTHENTICATION_METHODS = FS
SEC_CLIENT_AUTHENTICATION_METHODS = FS
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_DAEMON = *
ALLOW_NEGOTIATOR = *
ALLOW_ADMINISTRATOR = *
MAIL = /bin/true
USE_PROCD = False
SCHEDD_INTERVAL = 2
SCHEDD_MIN_INTERVAL = 1
NEGOTIATOR_INTERVAL = 2
NEGOTIATOR_MIN_INTERVAL = 1
NEGOTIATOR_CYCLE_DELAY = 1
UPDATE_INTERVAL = 2
POLLING_INTERVAL = 1
PERIODIC_EXPR_INTERVAL = 2
MAX_PERIODIC_EXPR_INTERVAL = 5
JOB_START_COUNT = 100
JOB_START_DELAY = 0
CLAIM_WORKLIFE = 0
RUNBENCHMARKS = 0
MachineMaxVacateTime = 60
JOB_DEFAULT_LEASE_DURATION = 60
MASTER_BACKOFF_CONSTANT = 1
DAGMAN_USER_LOG_SCAN_INTERVAL = 1
DAGMAN_USE_STRICT = 0
START = True
SUSPEND = False
PREEMPT = False
KILL = False
WANT_SUSPEND = False
WANT_VACATE = True
NUM_CPUS = 8
MEMORY = 16000
DISK = 40000000
NUM_SLOTS = 1
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = True
DAEMON_LIST = MASTER SHARED_PORT COLLECTOR NEGOTIATOR SCHEDD {daemons}
DC_DAEMON_LIST = + {daemons}
DedicatedScheduler = "DedicatedScheduler@{schedd}"
STARTD_ATTRS = $(STARTD_ATTRS) DedicatedScheduler
RANK = 0
MACHINE_RESOURCE_INVENTORY_GPUs = /bin/sh {folder}/gpus.$(STARTD_NAME)
"""

MACHINE = """
STARTD_N{n} = $(SBIN)/condor_startd
STARTD_N{n}_ARGS = -f -local-name n{n} -sock startd_n{n}
N{n}.STARTD_NAME = n{n}
N{n}.STARTD_LOG = {folder}/log/StartLog.n{n}
N{n}.EXECUTE = {folder}/execute/n{n}
N{n}.STARTD_ADDRESS_FILE = {folder}/log/.startd_address.n{n}
N{n}.STARTER_LOG = {folder}/log/StarterLog.n{n}
"""

DISCOVERY = """#!/bin/sh
echo 'DetectedGPUs="GPU-{n}0, GPU-{n}1"'
echo 'Common=[ Capability={capability}; DeviceName="{name}"; GlobalMemoryMb={memory}; ]'
echo 'GPU_{n}0=[ id="GPU-{n}0"; ]'
echo 'GPU_{n}1=[ id="GPU-{n}1"; ]'
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(what: str, condition, seconds: float = 120):
    """The condition's first true value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds} s")
        time.sleep(0.3)


class Pool:
    def __init__(self, folder: pathlib.Path, machines: int = 3):
        master = pathlib.Path(os.path.realpath(shutil.which("condor_master")))
        self.folder = folder
        self.user = "nobody" if os.geteuid() == 0 else None
        self.env = dict(os.environ, CONDOR_CONFIG=str(folder / "condor_config"), HOME=str(folder))
        for name in ("log", "lock", "run", "spool", "execute"):
            (folder / name).mkdir(parents=True)
        daemons = " ".join(f"STARTD_N{n + 1}" for n in range(machines))
        config = CONFIG.format(
            release=master.parent.parent,
            folder=folder,
            port=free_port(),
            daemons=daemons,
            schedd=f"{self.user or getpass.getuser()}@localhost",
        )
        for n in range(1, machines + 1):
            (folder / "execute" / f"n{n}").mkdir()
            name, capability, memory = GPUS[(n - 1) % len(GPUS)]
            script = folder / f"gpus.n{n}"
            script.write_text(
                DISCOVERY.format(n=n, name=name, capability=capability, memory=memory)
            )
            config += MACHINE.format(n=n, folder=folder)
        (folder / "condor_config").write_text(config)
        self.give(folder)
        with open(folder / "master.out", "w") as out:
            self.master = self.start(["condor_master", "-f"], stdout=out, stderr=out)
        wait_until("a pool with all its machines", lambda: self.slots() >= machines)

    def give(self, path: pathlib.Path):
        """Makes the pool's user the owner of everything there."""
        if self.user:
            uid = pwd.getpwnam(self.user)
            for where in [path, *path.rglob("*")]:
                os.chown(where, uid.pw_uid, uid.pw_gid, follow_symlinks=False)

    def start(self, command, **options) -> subprocess.Popen:
        if self.user:
            group = pwd.getpwnam(self.user).pw_gid
            options.update(user=self.user, group=group, extra_groups=[])
        options.setdefault("env", self.env)
        return subprocess.Popen(command, **options)

    def run(self, *command, check: bool = True, **options) -> subprocess.CompletedProcess:
        process = self.start(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )
        out, err = process.communicate(timeout=300)
        if check and process.returncode != 0:
            raise RuntimeError(f"{command} ended with {process.returncode}:\n{out}{err}")
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def slots(self) -> int:
        asked = self.run("condor_status", "-af", "Name", check=False)
        answers = self.run("condor_q", "-totals", check=False).returncode == 0
        return asked.stdout.count("slot1@n") if answers else 0

    def pid_of(self, daemon: str) -> int:
        return int((self.folder / "log" / f".{daemon}_pid").read_text())

    def stop(self):
        self.master.send_signal(signal.SIGQUIT)
        try:
            self.master.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.master.kill()
            self.master.wait()
