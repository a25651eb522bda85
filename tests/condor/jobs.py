"""kedge on real HTCondor daemons: a training evicted again and again, a DAG, a sweep, faults.

The pool is made by pool.py out of the condor_master on PATH; tools/dev/condor.sh says where one is.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from pool import Pool, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVICTIONS = 5

CONFIG = """
run: {project: pool}
model: {name: mlp, hidden: [256, 256]}
data: {name: synthetic, samples: 4096}
train: {epochs: 20, device: cpu, threads: 1}
loader: {batch_size: 64, workers: 0}
checkpoint: {every: never}
job: {scheduler: condor, cpus: 1, memory: 2GB, disk: 3GB}
"""

SWEEP = """
program: config.yaml
method: grid
metric: {name: val/loss}
parameters:
  optimizer.lr: {values: [0.1, 0.01, 0.001]}
  seed: {values: [1, 2, 3, 4]}
"""


def install(folder: pathlib.Path) -> dict[str, str]:
    """kedge where everybody may read it, and the variables with which it runs."""
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True)
    for name in ("kedge", "kedge-train"):
        shutil.copy(ROOT / "build" / "bin" / name, folder / "bin")
    listing = subprocess.run(
        ["ldd", folder / "bin" / "kedge-train"], check=True, capture_output=True, text=True
    ).stdout
    for line in listing.splitlines():
        words = line.split()
        if len(words) > 2 and words[1] == "=>" and not words[2].startswith(("/lib", "/usr/lib")):
            shutil.copy(words[2], folder / "lib" / words[0])
    return {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(folder / "lib"),
    }


class CondorTest(unittest.TestCase):
    """With one pool for all tests."""

    pool: Pool
    root: pathlib.Path

    def setUp(self):
        self.folder = self.root / self._testMethodName
        self.folder.mkdir()
        (self.folder / "config.yaml").write_text(CONFIG)
        self.pool.give(self.folder)

    def write(self, name: str, text: str, mode: int = 0o644):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(mode)
        self.pool.give(self.folder / name)

    def kedge(self, *words: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.pool.run("kedge", *words, check=check, cwd=self.folder)

    def submit(self, *words: str) -> str:
        return json.loads(self.kedge("submit", "--json", *words).stdout)[0]["job"]

    def job(self, key: str) -> dict:
        return json.loads(self.kedge("jobs", key, "--json").stdout)[0]

    def states(self, key: str) -> list[str]:
        return [task["state"] for task in self.job(key)["tasks"]]

    def wait_for(self, key: str, state: str, seconds: float = 240):
        def ended():
            states = self.states(key)
            if {"failed", "cancelled", "lost"} & set(states) - {state}:
                logs = sorted((self.folder / "jobs" / key / "logs").glob("*"))
                said = "\n".join(log.read_text()[-2000:] for log in logs)
                raise AssertionError(f"{states}: {self.job(key)}\n{said}")
            return all(s == state for s in states)

        wait_until(f"job {key} {state}", ended, seconds)

    def log(self, key: str) -> str:
        file = self.folder / "jobs" / key / "logs" / "job.log"
        return file.read_text() if file.exists() else ""

    def clusters(self, name: str) -> list[str]:
        """All that HTCondor ever had under this name, in the queue and behind it."""
        found = []
        for program in ("condor_q", "condor_history"):
            asked = self.pool.run(
                program, "-constraint", f'JobBatchName == "{name}"', "-af", "ClusterId", "ProcId"
            )
            found += asked.stdout.split("\n")
        return sorted(set(line for line in found if line))


class SubmitFiles(CondorTest):
    def test_golden_files_are_read_by_htcondors_own_parser(self):
        for file in (ROOT / "tests" / "fixtures" / "jobs").glob("condor_*.sub"):
            shutil.copy(file, self.folder)
            for state in ("Wisconsin", "New York"):
                (self.folder / f"state-{state}").mkdir(exist_ok=True)
        self.write("train.sh", "#!/bin/sh\ntrue\n", 0o755)
        self.write("train.py", "pass\n")
        self.pool.give(self.folder)
        cats = self.dry_run("condor_cats_and_dogs.sub")
        self.assertIn("CheckpointExitCode=85", cats)
        self.assertIn('TransferCheckpoint="output"', cats)
        self.assertIn("is_resumable=true", cats)
        self.assertIn("IsResumable=true", cats)
        self.assertIn("GPUsMinCapability=7.5", cats)
        every = self.dry_run("condor_every_key.sub")
        words = r"train.sh --lr 0.1 two' 'words it''''s say' '\"hi\" '' $HOME $(undeclared)"
        self.assertIn(f'Arguments="{words}"', every)
        limits = "Capability >= 7.0) && (Capability <= 9.0) && GlobalMemoryMb >= GPUsMinMemory"
        self.assertIn(limits, every)

    def dry_run(self, name: str) -> str:
        return self.pool.run("condor_submit", "-dry-run", "-", name, cwd=self.folder).stdout


class Training(CondorTest):
    def test_evictions_lose_no_step(self):
        self.kedge("train", "config.yaml", "run.id=whole", "job.scheduler=local")
        key = self.submit("config.yaml", "run.id=evicted", "job.checkpoint_every=10s")
        for eviction in range(EVICTIONS):
            before = self.log(key).count("epoch")
            wait_until(
                f"progress before eviction {eviction}",
                lambda: self.log(key).count("epoch") > before or self.states(key) == ["done"],
            )
            self.pool.run("condor_vacate_job", self.job(key)["id"])
            events = self.folder / "jobs" / key / "condor-1.log"
            wait_until(
                f"eviction {eviction}",
                lambda: events.read_text().count("was evicted") > eviction,
            )
        self.wait_for(key, "done")
        self.assertEqual(self.job(key)["tasks"][0]["restarts"], EVICTIONS)
        # The same to the last bit: weights, optimizer, random numbers.
        runs = self.folder / "runs" / "pool"
        files = sorted((runs / "whole" / "checkpoints" / "last").glob("*.safetensors"))
        self.assertGreater(len(files), 2)
        for file in files:
            name = f"{os.readlink(file.parent)}/{file.name}"
            other = runs / "evicted" / "checkpoints" / name
            self.assertEqual(other.read_bytes(), file.read_bytes(), name)
        # Every step was made once: each start went on where the one before had stopped.
        stops = re.findall(r"stopped at step (\d+)", self.log(key))
        starts = re.findall(r"from step-0*(\d+)", self.log(key))
        self.assertGreaterEqual(len(stops), EVICTIONS)
        self.assertEqual(starts, stops)


class Courses(CondorTest):
    def test_a_cancelled_job_stays_cancelled(self):
        key = self.submit("config.yaml", "train.epochs=100000", "job.retries=3")
        wait_until("a running job", lambda: self.states(key) == ["running"])
        self.kedge("cancel", key)
        self.wait_for(key, "cancelled")
        wait_until("an empty queue", lambda: not self.pool.run("condor_q", "-af", "ProcId").stdout)
        self.kedge("retry", "--failed")
        self.assertEqual(self.states(key), ["cancelled"])

    def test_a_dag_with_a_retry_and_all_edges(self):
        self.write("note.sh", '#!/bin/sh\necho $1 >>"$TRACE"\n', 0o755)
        self.write(
            "flaky.sh", '#!/bin/sh\necho $1 >>"$TRACE"\n[ $(grep -c $1 "$TRACE") = 2 ]\n', 0o755
        )
        trace = self.pool.folder / "trace"  # outside of what travels
        self.write(
            "dag.yaml",
            f"""
name: steps
job: {{scheduler: condor, cpus: 1, memory: 100MB, disk: 100MB, env: {{TRACE: {trace}}},
      inputs: [note.sh, flaky.sh]}}
steps:
  prepare: {{command: [./note.sh, prepare]}}
  train: {{command: [./flaky.sh, train], after: prepare, retries: 2}}
  broken: {{command: [/bin/false], after: prepare}}
  repair: {{command: [./note.sh, repair], after: {{broken: failed}}}}
  never: {{command: [./note.sh, never], after: broken}}
  report: {{command: [./note.sh, report], after: {{never: any, train: ok}}}}
""",
        )
        jobs = json.loads(self.kedge("submit", "dag.yaml", "--json").stdout)
        keys = {job["name"]: job["job"] for job in jobs}
        for step in ("prepare", "train", "repair", "report"):
            self.wait_for(keys[f"steps-{step}"], "done")
        wait_until("the end", lambda: self.states(keys["steps-never"]) == ["cancelled"])
        self.assertEqual(self.states(keys["steps-broken"]), ["failed"])
        ran = trace.read_text().split()
        self.assertEqual(sorted(ran), ["prepare", "repair", "report", "train", "train"])
        self.assertLess(ran.index("prepare"), ran.index("train"))
        self.assertEqual(ran.index("report"), len(ran) - 1 if ran[-1] == "report" else 3)

    def test_a_sweep_of_twelve(self):
        self.write("sweep.yaml", SWEEP)
        self.write("config.yaml", CONFIG.replace("epochs: 20", "epochs: 1"))
        key = self.submit("sweep.yaml", "job.at_once=4")
        self.wait_for(key, "done")
        self.assertEqual(len(self.states(key)), 12)
        sweep = next((self.folder / "sweeps").iterdir()).name
        shown = self.kedge("sweep", "show", sweep, "--json").stdout
        trials = json.loads(shown)["trials"]
        values = {json.dumps(trial["values"], sort_keys=True) for trial in trials}
        self.assertEqual(len(values), 12)


class Requests(CondorTest):
    def test_gpus_are_found_by_capability_and_memory(self):
        self.write("gpu.sh", '#!/bin/sh\necho "on $CUDA_VISIBLE_DEVICES"\n', 0o755)
        small = ["job.gpus=1", "job.memory=100MB", "job.disk=100MB", "job.inputs=[gpu.sh]"]
        key = self.submit(
            "--scheduler=condor",
            *small,
            "job.gpu_capability=8.0",
            "job.gpu_memory=48GB",
            "--",
            "./gpu.sh",
        )
        self.wait_for(key, "done")
        self.assertIn("on GPU-2", self.log(key), "only the A40 of machine 2 has both")

    def test_small_tasks_share_a_gpu(self):
        self.write(
            "share.sh",
            "#!/bin/bash\n: >here-$1\nuntil [ -e here-$(($1 ^ 1)) ]; do sleep 0.1; done\n"
            'echo "task $1 has $2 on $CUDA_VISIBLE_DEVICES"\n',
            0o755,
        )
        key = self.submit(
            "--scheduler=condor",
            "--in=a,b,c,d",
            "job.gpus=1",
            "--per-gpu=2",
            "job.memory=100MB",
            "job.disk=100MB",
            "job.inputs=[share.sh]",
            "--",
            "./share.sh",
            "{task}",
            "{item}",
        )
        self.wait_for(key, "done")
        self.assertEqual(len(self.states(key)), 2)
        said = self.kedge("logs", key).stdout
        seen = re.findall(r"(\d)\| task (\d) has (\w) on (\S+)", said)
        self.assertEqual(sorted(line[1:3] for line in seen), list(zip("0123", "abcd")))
        gpus = {task: gpu for _, task, _, gpu in seen}
        self.assertEqual(gpus["0"], gpus["1"], "the first two in one job")
        self.assertEqual(gpus["2"], gpus["3"])

    def test_advice_holds_the_catalogue_against_the_pool(self):
        asked = ["job.gpus=1", "job.gpu_memory=48GB", "job.queue=gpulab", "--advise"]
        text = self.kedge("submit", "config.yaml", *asked).stdout
        self.assertIn("here: 2 NVIDIA A40", text)
        self.assertIn("2 NVIDIA GeForce GTX 1080 Ti", text.split("not these: ")[1])
        self.assertFalse((self.folder / "jobs").exists(), "advice submits nothing")

    def test_a_limit_below_the_estimate_is_said_before(self):
        self.kedge("train", "config.yaml", "train.epochs=2")
        asked = ["config.yaml", "train.epochs=100000", "job.time=1m", "--dry-run"]
        self.assertIn("it saves at the limit and goes on", self.kedge("submit", *asked).stderr)

    def test_an_impossible_request_waits_and_says_so(self):
        asked = self.kedge("submit", "config.yaml", "job.memory=64TB", "--json")
        self.assertIn("no machine of the pool has", asked.stderr)
        key = json.loads(asked.stdout)[0]["job"]
        self.assertEqual(self.states(key), ["waiting"])
        self.kedge("cancel", key)
        self.wait_for(key, "cancelled")

    def test_a_job_that_fails_before_its_program_is_not_held(self):
        key = self.submit("config.yaml", "job.setup=[exit 3]")
        self.wait_for(key, "failed")
        self.assertEqual(self.job(key)["tasks"][0]["exit_code"], 3)
        self.assertIn("the job made no 'runs'", self.log(key))

    def test_named_keys_travel_and_are_left_nowhere(self):
        """WANDB_API_KEY is not named: the machines of a pool may be anybody's."""
        secret = "hf_" + "s3cr3t" * 3
        self.write(
            "work.sh",
            '#!/bin/sh\necho "token is $HF_TOKEN, key is $WANDB_API_KEY."\n'
            "ls -l secrets-1.sh\nmkdir -p saved\n"
            "[ ! -e saved/once ] || exit 0\ntouch saved/once; exit 85\n",
            0o755,
        )
        made = self.pool.run(
            *["env", f"HF_TOKEN={secret}", f"WANDB_API_KEY=w{secret}", "kedge"],
            *["submit", "--json", "--scheduler=condor", "job.secrets=[HF_TOKEN]"],
            *["job.cpus=1", "job.memory=200MB", "job.disk=3GB", "job.resumable=true"],
            *["job.outputs=[saved]", "--", "./work.sh"],
            cwd=self.folder,
        )
        self.assertIn("not handed to the job: WANDB_API_KEY", made.stderr)
        key = json.loads(made.stdout)[0]["job"]
        self.wait_for(key, "done")
        self.assertEqual(self.log(key).count("token is ***, key is ."), 2)
        self.assertIn("-rw-------", self.log(key))
        file = self.folder / "jobs" / key / "secrets-1.sh"
        wait_until("no secrets", lambda: self.states(key) and not file.exists(), 60)
        for path in [*self.folder.rglob("*"), *self.pool.folder.rglob("*")]:
            if path.is_file() and secret.encode() in path.read_bytes():
                self.fail(f"{path} holds the secret")


class Faults(CondorTest):
    def schedd(self, what: str):
        self.pool.run(f"condor_{what}", "-daemon", "schedd")
        is_up = what == "on"
        wait_until(
            f"schedd {what}",
            lambda: (self.pool.run("condor_q", "-totals", check=False).returncode == 0) == is_up,
        )

    def test_a_schedd_that_is_down_at_submit_loses_nothing(self):
        self.schedd("off")
        asked = self.kedge(
            "submit", "--scheduler=condor", "--name=down", "--", "/bin/true", check=False
        )
        self.assertEqual(asked.returncode, 1)
        self.assertIn("does not answer", asked.stderr)
        self.schedd("on")
        key = json.loads(self.kedge("jobs", "--json").stdout)[0]["job"]
        self.assertEqual(self.states(key), ["failed"])
        self.kedge("retry", key)
        self.wait_for(key, "done")
        self.assertEqual(len(self.clusters("down")), 1)

    def test_a_schedd_that_goes_away_during_a_run(self):
        key = self.submit(
            "--scheduler=condor",
            "--name=away",
            "job.memory=100MB",
            "job.disk=100MB",
            "--",
            "/bin/sleep",
            "8",
        )
        wait_until("a running job", lambda: self.states(key) == ["running"])
        self.schedd("off")
        seen = self.job(key)
        self.assertIn("does not answer", seen["problem"])
        self.schedd("on")
        self.wait_for(key, "done")
        self.assertEqual(len(self.clusters("away")), 1)

    def interrupted(self, name: str, script: str) -> str:
        """Kills `kedge submit` while condor_submit runs, which is this script."""
        programs = self.folder / "programs"
        programs.mkdir()
        real = shutil.which("condor_submit")
        (programs / "condor_submit").write_text(script.format(real=real, mark=self.folder / "at"))
        (programs / "condor_submit").chmod(0o755)
        env = dict(self.pool.env, PATH=f"{programs}:{self.pool.env['PATH']}")
        submit = self.pool.start(
            ["kedge", "submit", "--scheduler=condor", f"--name={name}", "--", "/bin/true"],
            cwd=self.folder,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_until("condor_submit", lambda: (self.folder / "at").exists())
        os.killpg(submit.pid, signal.SIGKILL)
        submit.wait()
        return json.loads(self.kedge("jobs", "--json").stdout)[0]["job"]

    def test_a_submit_killed_after_the_schedd_has_the_job_is_not_repeated(self):
        key = self.interrupted("after", '#!/bin/sh\n{real} "$@"\ntouch {mark}\nexec sleep 60\n')
        self.wait_for(key, "done")
        self.assertEqual(len(self.clusters("after")), 1)

    def test_a_submit_killed_before_the_schedd_has_the_job_can_be_repeated(self):
        key = self.interrupted("before", "#!/bin/sh\ntouch {mark}\nexec sleep 10\n")
        wait_until("the end of its condor_submit", lambda: self.states(key) == ["failed"])
        self.kedge("retry", key)
        self.wait_for(key, "done")
        self.assertEqual(len(self.clusters("before")), 1)


def setUpModule():
    # Not in TMPDIR: HTCondor's sockets lie in it, and their paths must be short.
    CondorTest.root = pathlib.Path(tempfile.mkdtemp(prefix="kedge-condor-", dir="/tmp"))
    CondorTest.root.chmod(0o755)
    CondorTest.pool = Pool(CondorTest.root / "pool")
    CondorTest.pool.env.update(install(CondorTest.root / "kedge"))


def tearDownModule():
    CondorTest.pool.stop()
    # A daemon that is still ending may make another file.
    shutil.rmtree(CondorTest.root, ignore_errors=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
