#!/usr/bin/env python3
"""kedge's jobs on real Slurm daemons: nothing runs twice, nothing is forgotten.

Usage: jobs.py KEDGE [NAME ...]      the tests of these names only

One cluster of three nodes on this machine serves all tests, several at a time.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import Cluster, missing, wait_until  # noqa: E402

CONFIG = """
data: {name: synthetic, samples: 2000, image_size: 12, channels: 1}
model: {name: mlp, hidden: [32], dropout: 0.2}
loader: {batch_size: 20, workers: 1}
optimizer: {name: adamw, lr: 0.001}
train: {epochs: 100, threads: 1, log_every: 50}
checkpoint: {every: 25 epochs}
track: {predictions: 0, system_every: 0}
job: {scheduler: slurm, cpus: 1, memory: 500MB, time: 10m}
"""
SMALL = ["job.scheduler=slurm", "job.cpus=1", "job.memory=100MB", "job.time=5m"]


class Bench:
    """A test's own folder, and kedge in it."""

    def __init__(self, cluster: Cluster, kedge: str, folder: pathlib.Path):
        self.cluster = cluster
        self.program = kedge
        self.folder = folder
        self.environment = dict(cluster.environment)
        folder.mkdir()

    def kedge(self, *words: str, check: bool = True, limit_s: float = 120, **variables: str):
        done = subprocess.run(
            [self.program, *words],
            cwd=self.folder,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=limit_s,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"kedge {' '.join(words)}: {done.returncode}\n{done.stderr}")
        return done

    def submit(self, *words: str) -> str:
        return self.kedge("submit", *words).stdout.split()[-1]

    def tasks(self, job: str) -> list[dict]:
        return json.loads(self.kedge("jobs", job, "--json").stdout)[0]["tasks"]

    def states(self, job: str) -> list[str]:
        return [task["state"] for task in self.tasks(job)]

    def wait_for(self, job: str, state: str, limit_s: float = 90) -> list[dict]:
        try:
            wait_until(f"{job} {state}", lambda: set(self.states(job)) == {state}, limit_s)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.tasks(job)}\n{self.log(job)}") from error
        return self.tasks(job)

    def log(self, job: str) -> str:
        return self.kedge("logs", job).stdout

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path


def equal(found, wanted, what: str) -> None:
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, not {wanted!r}")


def contains(text: str, part: str) -> None:
    if part not in text:
        raise AssertionError(f"'{part}' is not in:\n{text}")


def array_keeps_to_its_cap(bench: Bench) -> None:
    bench.write(
        "work.sh",
        "#!/bin/bash\nmkdir -p live; : >live/$1; ls live | wc -l >>most; sleep 1.5; rm live/$1\n"
        'echo "item $2 of $KEDGE_TASKS"\n',
    )
    job = bench.submit(
        *SMALL, "--in", "a,b,c,d,e", "--at-once", "2", "--", "./work.sh", "{task}", "{item}"
    )
    bench.wait_for(job, "done")
    most = max(int(line) for line in (bench.folder / "most").read_text().split())
    equal(most, 2, "tasks at once")
    log = bench.log(job)
    for item in "abcde":
        contains(log, f"item {item} of 5")
    equal(sum("item" in line for line in log.splitlines()), 5, "lines")


def exit_85_runs_again_until_done(bench: Bench) -> None:
    bench.write(
        "work.sh",
        '#!/bin/bash\necho "start $KEDGE_TASK"; echo x >>count-$KEDGE_TASK\n'
        "[ $(wc -l <count-$KEDGE_TASK) -ge 3 ] || exit 85\n",
    )
    job = bench.submit(*SMALL, "--tasks", "2", "--", "./work.sh")
    tasks = bench.wait_for(job, "done", 180)
    equal([task["restarts"] for task in tasks], [2, 2], "restarts")
    log = bench.log(job)
    equal(log.count("start 0"), 3, "starts in the log, which is appended to")
    contains(log, "is requeued")


def chained_jobs_follow_each_other(bench: Bench) -> None:
    bench.write(
        "work.sh", "#!/bin/bash\necho x >>n-$1; [ $(wc -l <n-$1) -ge 3 ] || exit 85; echo end\n"
    )
    chain = "job.continuation=chain"
    one = bench.submit(*SMALL, chain, "--", "./work.sh", "one")
    many = bench.submit(*SMALL, chain, "--tasks", "2", "--", "./work.sh", "{task}")
    bench.wait_for(one, "done")
    bench.wait_for(many, "done")
    contains(bench.log(one), "goes on after this one")
    for name in ["one", "0", "1"]:
        equal((bench.folder / f"n-{name}").read_text(), "x\n" * 3, f"starts of {name}")


def test_job_goes_first(bench: Bench) -> None:
    bench.write("work.sh", '#!/bin/bash\necho "$1" >>order; [ "$1" != bad ]\n')
    words = [*SMALL, "--test-one", "--in"]
    good = bench.submit(*words, "a,b", "--name", "good", "--", "./work.sh", "{item}")
    bench.wait_for(good, "done")
    equal((bench.folder / "order").read_text().split()[0], "a", "the test's item")
    equal(len((bench.folder / "order").read_text().split()), 3, "tasks and the test")
    never = bench.submit(*words, "bad,b", "--name", "never", "--", "./work.sh", "{item}")
    bench.wait_for(never, "cancelled")


def cancelled_stays_cancelled(bench: Bench) -> None:
    bench.write(
        "work.sh",
        "#!/bin/bash\ntrap 'echo saved; exit 85' TERM\necho x >>starts\n"
        "while :; do sleep 0.2; done\n",
    )
    job = bench.submit(*SMALL, "--", "./work.sh")
    wait_until("start", lambda: (bench.folder / "starts").exists())
    bench.kedge("cancel", job)
    bench.wait_for(job, "cancelled")
    other = bench.submit(*SMALL, "--", "./work.sh")
    starts = bench.folder / "starts"
    wait_until("start", lambda: starts.read_text().count("x") == 2)
    # Behind kedge's back.
    bench.cluster.call("scancel", bench.tasks(other)[0]["id"])
    bench.wait_for(other, "cancelled")
    wait_until("its last words", lambda: "saved" in bench.log(other))
    time.sleep(8)  # a requeued job waits for 5 s: then it would have started again
    equal(starts.read_text().count("x"), 2, "starts")
    equal(set(bench.states(job) + bench.states(other)), {"cancelled"}, "states")


def killed_node_gives_the_job_to_another(bench: Bench) -> None:
    bench.write(
        "work.sh",
        '#!/bin/bash\necho "on $SLURMD_NODENAME"\n[ -e again ] && exit 0\n: >again; sleep 300\n',
    )
    job = bench.submit(*SMALL, "job.queue=spare", "--", "./work.sh")
    wait_until("start", lambda: (bench.folder / "again").exists())
    bench.cluster.stop_process("slurmd.n3", signal.SIGKILL)
    wait_until("requeue", lambda: bench.states(job) == ["waiting"])
    bench.cluster.start_node(3)
    tasks = bench.wait_for(job, "done", 120)
    equal(tasks[0]["restarts"], 1, "restarts")
    equal(bench.log(job).count("Z n3 on n3\n"), 2, "starts")


def large_array_is_submitted_in_parts(bench: Bench) -> None:
    """The cluster's MaxArraySize is 16."""
    bench.write(
        "work.sh",
        '#!/bin/bash\necho "task $KEDGE_TASK of $KEDGE_TASKS has $1"; echo $KEDGE_TASK >>ran\n'
        '[ "$KEDGE_TASK" != 18 ] || [ -e mended ]\n',
    )
    items = [f"i{n}" for n in range(20)]
    done = bench.kedge("submit", *SMALL, "--in", ",".join(items), "--", "./work.sh", "{item}")
    contains(done.stderr, "20 tasks are more than this site takes in one array: submitted as 2")
    job = done.stdout.split()[-1]
    wanted = ["done"] * 18 + ["failed", "done"]
    wait_until(f"{job} to end", lambda: bench.states(job) == wanted, 180)
    ran = sorted(int(line) for line in (bench.folder / "ran").read_text().split())
    equal(ran, list(range(20)), "tasks that ran")
    for number in (0, 15, 16, 19):
        log = bench.kedge("logs", f"{job}.{number}").stdout
        contains(log, f"task {number} of 20 has i{number}")
        equal(log.count(" has i"), 1, f"lines of task {number}")
    (bench.folder / "mended").touch()
    after = bench.submit(*SMALL, "--after-any", job, "--", "/bin/true")
    bench.wait_for(after, "done")
    bench.kedge("retry", job)
    bench.wait_for(job, "done")
    equal((bench.folder / "ran").read_text().split().count("18"), 2, "runs of the mended task")


def parts_keep_to_the_cap_together(bench: Bench) -> None:
    bench.write(
        "work.sh",
        "#!/bin/bash\nmkdir -p live; : >live/$1; ls live | wc -l >>most; sleep 0.3; rm live/$1\n",
    )
    job = bench.submit(*SMALL, "--tasks", "18", "--at-once", "3", "--", "./work.sh", "{task}")
    bench.wait_for(job, "done", 180)
    counts = [int(line) for line in (bench.folder / "most").read_text().split()]
    equal(len(counts), 18, "tasks")
    equal(max(counts) <= 3, True, f"at once: {counts}")


def advice_knows_the_site(bench: Bench) -> None:
    text = bench.kedge(
        "submit", *SMALL, "job.gpus=1", "--tasks", "12", "--advise", "--", "/bin/true"
    ).stdout
    contains(text, "12 tasks")
    contains(text, "here: 6 of unknown kind")
    contains(text, "nothing is known: no finished run or job like this")
    equal((bench.folder / "jobs").exists(), False, "advice submits nothing")


def dependencies_are_kept(bench: Bench) -> None:
    slow = bench.submit(*SMALL, "--", "/bin/sh", "-c", "sleep 2; echo first >>order")
    then = bench.submit(*SMALL, "--after", slow, "--", "/bin/sh", "-c", "echo second >>order")
    bad = bench.submit(*SMALL, "--", "/bin/sh", "-c", "exit 3")
    never = bench.submit(*SMALL, "--after", bad, "--", "/bin/true")
    mend = bench.submit(*SMALL, "--after-failed", bad, "--", "/bin/true")
    bench.wait_for(then, "done")
    equal((bench.folder / "order").read_text(), "first\nsecond\n", "order")
    equal(bench.wait_for(bad, "failed")[0]["exit_code"], 3, "exit code")
    bench.wait_for(never, "cancelled")
    bench.wait_for(mend, "done")


def digests(folder: pathlib.Path) -> dict:
    last = folder / "checkpoints/last"
    found = {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in last.glob("*.safetensors")
    }
    if not found:
        raise AssertionError(f"{last} has no tensors")
    return found


def training_goes_on_to_the_same_weights(bench: Bench) -> None:
    (bench.folder / "config.yaml").write_text(CONFIG)
    bench.kedge("train", "config.yaml", "run.id=whole")
    # The first two starts save and stop after a second of training; the script requeues the job.
    limit = (
        "setup: ['[ \"${SLURM_RESTART_COUNT:-0}\" -ge 2 ] || export KEDGE__TRAIN__MAX_TIME=1s']"
    )
    (bench.folder / "parts.yaml").write_text(CONFIG.replace("time: 10m", "time: 10m, " + limit))
    job = bench.submit("parts.yaml", "run.id=parts")
    tasks = bench.wait_for(job, "done", 300)
    runs = bench.folder / "runs/default"
    equal(digests(runs / "parts"), digests(runs / "whole"), "weights")
    equal(tasks[0]["restarts"], 2, "restarts")


def slurm_time_limit_stops_in_time(bench: Bench) -> None:
    bench.write(
        "work.sh",
        "#!/bin/bash\nn=0\ntrap 'echo saved; exit 0' TERM USR1\n"
        "while ((n < 3)); do sleep 0.5; [ -e fast ] && n=$((n + 1)); done\necho end\n",
    )
    job = bench.submit(
        *SMALL, "job.time=1m", "job.grace=50s", "job.resumable=true", "--", "./work.sh"
    )
    wait_until("a requeue", lambda: bench.tasks(job)[0]["restarts"] == 1, 120)
    (bench.folder / "fast").touch()
    bench.wait_for(job, "done", 120)
    contains(bench.log(job), "end")


def sweep_of_12_is_an_array(bench: Bench) -> None:
    bench.write(
        "work.sh",
        '#!/bin/sh\nfor a in "$@"; do case $a in --x=*) x=${a#--x=};; esac; done\n'
        'echo "loss = 0.$x"\n',
    )
    (bench.folder / "sweep.yaml").write_text(
        "program: work.sh\nmethod: grid\nmetric: {name: loss}\n"
        "parameters: {x: [1, 2, 3, 4, 5, 6], y: [0, 1]}\n"
    )
    job = bench.submit("sweep.yaml", *SMALL, "job.at_once=4")
    equal(len(bench.tasks(job)), 12, "tasks")
    bench.wait_for(job, "done", 180)
    sweep = next((bench.folder / "sweeps").iterdir()).name
    text = bench.kedge("sweep", "show", sweep).stdout
    finished = [line for line in text.splitlines() if line.split()[1:2] == ["finished"]]
    equal(len(finished), 12, "finished trials")


def ranks_meet(bench: Bench) -> None:
    bench.write(
        "rank.sh",
        '#!/bin/bash\necho "rank $RANK of $WORLD_SIZE local $LOCAL_RANK at '
        '$MASTER_ADDR:$MASTER_PORT on $SLURMD_NODENAME gpus $CUDA_VISIBLE_DEVICES"\n',
    )
    job = bench.submit(*SMALL, "job.nodes=2", "job.ranks=2", "job.gpus=2", "--", "./rank.sh")
    bench.wait_for(job, "done")
    lines = [line for line in bench.log(job).splitlines() if " rank " in line]
    equal(sorted(line.split(" rank ")[1][0] for line in lines), ["0", "1", "2", "3"], "ranks")
    equal(len({line.split(" at ")[1].split(" on ")[0] for line in lines}), 1, "addresses")
    contains(lines[0], "127.0.0.1:")
    equal(len({line.split()[1].split(":")[0] for line in lines}), 2, "hosts in the stamps")


def refusals_are_clear(bench: Bench) -> None:
    for words, part in [
        (["job.queue=nowhere"], "invalid partition"),
        (["job.gpus=9"], "node configuration is not available"),
        (["job.memory=1TB"], "refused"),
        (["job.nodes=9"], "job.nodes is 9, and partition main gives a job 2"),
        (["job.queue=short", "job.time=2h"], "partition short allows 5m00s"),
    ]:
        done = bench.kedge("submit", *SMALL, *words, "--", "/bin/true", check=False)
        equal(done.returncode, 2, f"exit code of {words}: {done.stderr}")
        contains(done.stderr, part)
    done = bench.kedge(
        "submit", *SMALL, "job.env={WANDB_API_KEY: x}", "--", "/bin/true", check=False
    )
    contains(done.stderr, "WANDB_API_KEY")


def secrets_stay_out(bench: Bench) -> None:
    secret = "s3cr3t-" + "x" * 12
    done = bench.kedge(
        "submit",
        *SMALL,
        "--",
        "/bin/sh",
        "-c",
        'echo "key is $WANDB_API_KEY"',
        WANDB_API_KEY=secret,
    )
    job = done.stdout.split()[-1]
    bench.wait_for(job, "done")
    contains(bench.log(job), "key is ***")
    folder = bench.folder / "jobs" / job
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "secrets.sh" and secret in path.read_text():
            raise AssertionError(f"{path} holds the secret")
    wait_until("no secrets", lambda: bench.states(job) and not (folder / "secrets.sh").exists())


def interrupted_submit_leaves_one_job(bench: Bench) -> None:
    """An sbatch that kills kedge, before or after the real one was called."""
    real = shutil.which("sbatch", path=bench.environment["PATH"])
    for when in ["before", "after"]:
        place = bench.folder / when
        place.mkdir()
        fake = place / "sbatch"
        submit = f'{real} "$@" >/dev/null; ' if when == "after" else ""
        fake.write_text(f"#!/bin/bash\n{submit}kill -9 $PPID\nsleep 5\n")
        fake.chmod(0o755)
        words = [*SMALL, "--name", when, "--", "/bin/sh", "-c", f"echo x >>ran-{when}"]
        path = f"{place}:{bench.environment['PATH']}"
        done = bench.kedge("submit", *words, check=False, PATH=path)
        equal(done.returncode, -9, "kedge was killed")
        state = bench.states(when)
        if when == "before":
            equal(state, ["failed"], "a job that never reached Slurm")
            bench.kedge("retry", when)
        bench.wait_for(when, "done")
        equal((bench.folder / f"ran-{when}").read_text(), "x\n", f"runs of {when}")


def full_disk_is_said(bench: Bench) -> None:
    disk = bench.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "x", str(disk)]).returncode != 0:
        return
    try:
        (disk / "fill").write_bytes(b"x" * 16384)
        done = bench.kedge(
            "submit", *SMALL, "--book", str(disk / "jobs"), "--", "/bin/true", check=False
        )
        equal(done.returncode, 1, f"exit code: {done.stderr}")
        contains(done.stderr, "No space left")
        (disk / "fill").unlink()
        # The job's own output on a full disk does not keep it from ending well.
        job = bench.submit(
            *SMALL,
            f"job.output={disk}/out-%j.log",
            "--",
            "/bin/sh",
            "-c",
            "head -c 60000 /dev/zero | tr '\\0' 'y'; echo; : >ended",
        )
        bench.wait_for(job, "done")
        equal((bench.folder / "ended").exists(), True, "the program ran to its end")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def full_disk_on_the_node_is_said(bench: Bench) -> None:
    disk = bench.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "x", str(disk)]).returncode != 0:
        return
    try:
        (disk / "fill").write_bytes(b"x" * (16 << 20))
        (bench.folder / "config.yaml").write_text(CONFIG.replace("epochs: 100", "epochs: 2"))
        job = bench.submit("config.yaml", f"track.dir={disk}/runs")
        bench.wait_for(job, "failed")
        contains(bench.log(job), "No space left")
        (disk / "fill").unlink()
        bench.kedge("retry", job)
        bench.wait_for(job, "done")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def controller_away(bench: Bench) -> None:
    """Runs last: everybody else needs the controller."""
    running = bench.submit(*SMALL, "--", "/bin/sh", "-c", "echo begun; sleep 6; echo ended")
    wait_until("start", lambda: "begun" in bench.log(running))
    bench.cluster.stop_process("slurmctld")
    done = bench.kedge("submit", *SMALL, "--name", "later", "--", "/bin/true", check=False)
    equal(done.returncode, 1, f"exit code: {done.stderr}")
    contains(done.stderr, "Slurm does not answer")
    contains(done.stderr, "kedge retry")
    contains(bench.kedge("jobs").stdout, "Slurm does not answer")
    bench.cluster.start_controller()
    wait_until("controller", bench.cluster.is_up)
    equal(bench.states("later"), ["failed"], "what never reached Slurm")
    bench.kedge("retry", "--failed")
    bench.wait_for("later", "done")
    # Slurm itself may learn only after a minute what ended while its controller was away.
    wait_until("its end", lambda: "ended" in bench.log(running))
    equal(set(bench.states(running)) <= {"running", "done"}, True, "not lost")


def killed_controller_reuses_ids(bench: Bench) -> None:
    job = bench.submit(*SMALL, "--", "/bin/sh", "-c", "sleep 100")
    id_before = bench.tasks(job)[0]["id"]
    bench.cluster.stop_process("slurmctld", signal.SIGKILL)
    bench.cluster.start_controller()
    wait_until("controller", bench.cluster.is_up)
    other = bench.submit(*SMALL, "--", "/bin/sh", "-c", "sleep 100")
    if bench.tasks(other)[0]["id"] != id_before:
        bench.kedge("cancel", "--all")
        return  # the controller had saved its state: nothing was lost
    # A node that had started it ends it when the controller does not know it.
    if bench.states(job)[0] not in ["lost", "failed"]:
        raise AssertionError(f"the job that the controller forgot: {bench.tasks(job)}")
    bench.kedge("cancel", job)
    time.sleep(2)
    equal(set(bench.states(other)) <= {"running", "waiting"}, True, "another job of that id")
    bench.kedge("cancel", other)


def two_nodes_survive_a_killed_one(bench: Bench) -> None:
    config = CONFIG.replace("every: 25 epochs", "every: 100 steps")
    (bench.folder / "config.yaml").write_text(config)
    bench.kedge("train", "config.yaml", "run.id=whole", "dist.ranks=2", limit_s=600)
    job = bench.submit("config.yaml", "run.id=parts", "job.nodes=2", "job.ranks=1")
    runs = bench.folder / "runs/default"
    wait_until("a checkpoint", lambda: (runs / "parts/checkpoints/last").exists(), 300)
    bench.cluster.stop_process("slurmd.n2", signal.SIGKILL)
    wait_until("a requeue", lambda: bench.tasks(job)[0]["restarts"] >= 1, 300)
    bench.cluster.start_node(2)
    bench.wait_for(job, "done", 600)
    contains(bench.log(job), "resume   attempt 2")
    equal(digests(runs / "parts"), digests(runs / "whole"), "weights")


ALONE = [controller_away, killed_controller_reuses_ids]
TOGETHER = [
    killed_node_gives_the_job_to_another,
    training_goes_on_to_the_same_weights,
    slurm_time_limit_stops_in_time,
    exit_85_runs_again_until_done,
    chained_jobs_follow_each_other,
    test_job_goes_first,
    cancelled_stays_cancelled,
    array_keeps_to_its_cap,
    large_array_is_submitted_in_parts,
    parts_keep_to_the_cap_together,
    advice_knows_the_site,
    dependencies_are_kept,
    sweep_of_12_is_an_array,
    ranks_meet,
    refusals_are_clear,
    secrets_stay_out,
    interrupted_submit_leaves_one_job,
    full_disk_is_said,
    full_disk_on_the_node_is_said,
]
# Only by name: ./dev soak ranks.
LONG = [two_nodes_survive_a_killed_one]


def run(test, cluster: Cluster, kedge: str, folder: pathlib.Path) -> bool:
    begun = time.monotonic()
    try:
        test(Bench(cluster, kedge, folder / test.__name__))
    except Exception:  # all tests are run, and all that failed are told
        print(f"FAILED {test.__name__}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok     {test.__name__} {time.monotonic() - begun:.1f} s", flush=True)
    return True


def main() -> int:
    kedge = str(pathlib.Path(sys.argv[1]).resolve())
    names = set(sys.argv[2:])
    lacking = missing()
    if lacking:
        print(f"skipped: {', '.join(lacking)} not installed")
        return 0
    together = [test for test in TOGETHER if not names or test.__name__ in names]
    alone = [test for test in ALONE if not names or test.__name__ in names]
    alone += [test for test in LONG if test.__name__ in names]
    with tempfile.TemporaryDirectory(prefix="kedge-slurm-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        cluster = Cluster(folder / "c")
        try:
            cluster.start()
            with concurrent.futures.ThreadPoolExecutor(len(TOGETHER)) as pool:
                done = list(pool.map(lambda t: run(t, cluster, kedge, folder), together))
            done += [run(test, cluster, kedge, folder) for test in alone]
        finally:
            cluster.stop()
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
