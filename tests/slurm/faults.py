"""What goes wrong, or is asked wrongly: nothing runs twice, nothing is forgotten."""

import shutil
import signal
import subprocess
import time

from bench import CONFIG, SMALL, Bench, contains, digests, equal
from cluster import wait_until


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


def directives_override_nothing(bench: Bench) -> None:
    """A comment of the site's does not hide the job; what would make another job is refused."""
    words = ["job.directives=[--comment=team-x, --nice=5]", "--", "/bin/sleep", "300"]
    job = bench.submit(*SMALL, *words)
    bench.wait_for(job, "running")
    number = bench.tasks(job)[0]["id"]
    text = bench.cluster.call("squeue", "-h", "-j", number, "-o", "%k").stdout
    equal(text.strip(), f"team-x kedge:{job}/1", "comment")
    bench.kedge("cancel", job)
    bench.wait_for(job, "cancelled")
    state = bench.cluster.call("scontrol", "show", "job", "-o", number).stdout
    contains(state, "JobState=CANCELLED")
    for directive, key in [
        ("--array=1-3", "--tasks"),
        ("--output=x", "job.output"),
        ("-N 2", "job.nodes"),
    ]:
        line = f"job.directives=['{directive}']"
        done = bench.kedge("submit", *SMALL, line, "--", "/bin/true", check=False)
        equal(done.returncode, 2, f"exit code of {directive}")
        contains(done.stderr, key)


def secrets_stay_out(bench: Bench) -> None:
    """An array, each of whose tasks is requeued once: the last one takes the keys along."""
    secret = "s3cr3t-" + "x" * 12
    bench.write(
        "work.sh",
        '#!/bin/bash\necho "key is $WANDB_API_KEY, cloud is $AWS_SECRET_ACCESS_KEY."\n'
        "[ -e saved-$1 ] && exit 0\n: >saved-$1; exit 85\n",
    )
    done = bench.kedge(
        "submit",
        *SMALL,
        "--tasks=2",
        "--",
        "./work.sh",
        "{task}",
        WANDB_API_KEY=secret,
        AWS_SECRET_ACCESS_KEY="c1oud-" + "x" * 12,
    )
    contains(done.stderr, "not handed to the job: AWS_SECRET_ACCESS_KEY")
    job = done.stdout.split()[-1]
    folder = bench.folder / "jobs" / job
    equal((folder / "secrets-1.sh").stat().st_mode & 0o777, 0o600, "mode")
    ends = [folder / "ends" / task for task in "01"]
    # By the job itself: nobody has asked kedge about it yet.
    wait_until("its end", lambda: all(e.exists() and "end 1" in e.read_text() for e in ends))
    wait_until("no secrets", lambda: not (folder / "secrets-1.sh").exists())
    bench.wait_for(job, "done")
    equal(bench.kedge("logs", job).stdout.count("key is ***, cloud is ."), 4, "starts with the key")
    for path in folder.rglob("*"):
        if path.is_file() and secret in path.read_text():
            raise AssertionError(f"{path} holds the secret")


def cancelled_jobs_keep_no_secrets(bench: Bench) -> None:
    done = bench.kedge(
        "submit", *SMALL, "job.directives=[--hold]", "--", "/bin/true", WANDB_API_KEY="s3cr3t"
    )
    job = done.stdout.split()[-1]
    file = bench.folder / "jobs" / job / "secrets-1.sh"
    bench.wait_for(job, "held")
    equal(file.exists(), True, "the keys of a job that waits")
    bench.kedge("cancel", job)
    equal(file.exists(), False, "the keys of a job that is cancelled")


def held_jobs_say_how_they_go_on(bench: Bench) -> None:
    job = bench.submit(*SMALL, "job.directives=[--hold]", "--", "/bin/true")
    bench.wait_for(job, "held")
    waiting = subprocess.Popen(
        [bench.program, "jobs", job, "--wait"],
        cwd=bench.folder,
        env=bench.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    contains(waiting.stderr.readline(), "is held: JobHeldUser; scontrol release")
    bench.cluster.call("scontrol", "release", bench.tasks(job)[0]["id"])
    equal(waiting.wait(120), 0, "the one that waited")
    bench.wait_for(job, "done")


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
        if when == "before":
            wait_until("the end of its sbatch", lambda: bench.states("before") == ["failed"])
            bench.kedge("retry", when)
        bench.wait_for(when, "done")
        equal((bench.folder / f"ran-{when}").read_text(), "x\n", f"runs of {when}")


def slow_sbatch_runs_a_job_once(bench: Bench) -> None:
    """kedge is killed while its sbatch sleeps; whoever retries meanwhile makes no second job."""
    real = shutil.which("sbatch", path=bench.environment["PATH"])
    place = bench.folder / "slow"
    place.mkdir()
    fake = place / "sbatch"
    fake.write_text(f'#!/bin/bash\nkill -9 $PPID\nsleep 4\n{real} "$@"\n')
    fake.chmod(0o755)
    words = [*SMALL, "--name", "slow", "--", "/bin/sh", "-c", "echo x >>ran; sleep 2"]
    path = f"{place}:{bench.environment['PATH']}"
    done = bench.kedge("submit", *words, check=False, PATH=path)
    equal(done.returncode, -9, "kedge was killed")
    bench.kedge("retry", "slow", check=False)
    time.sleep(6)
    bench.kedge("retry", "slow", check=False)
    bench.wait_for("slow", "done")
    time.sleep(8)  # a second job would have come by now
    equal((bench.folder / "ran").read_text(), "x\n", "runs")


def late_sbatch_runs_nothing(bench: Bench) -> None:
    """An sbatch that nothing holds: its job comes after the submission was given up."""
    real = shutil.which("sbatch", path=bench.environment["PATH"])
    place = bench.folder / "late"
    place.mkdir()
    fake = place / "sbatch"
    fake.write_text(
        f'#!/bin/bash\nsetsid /bin/bash -c \'for fd in /proc/self/fd/*; do fd=${{fd##*/}};'
        f' [ $fd -lt 3 ] || eval "exec $fd>&-"; done; sleep 6; {real} "$0" "$@"\' "$@"'
        " </dev/null >/dev/null 2>&1 &\nkill -9 $PPID\n"
    )
    fake.chmod(0o755)
    words = [*SMALL, "--name", "late", "--", "/bin/sh", "-c", "echo x >>ran"]
    bench.kedge("submit", *words, check=False, PATH=f"{place}:{bench.environment['PATH']}")
    time.sleep(1)
    equal(bench.states("late"), ["failed"], "a job that never reached Slurm")
    bench.kedge("retry", "late")
    bench.wait_for("late", "done")
    wait_until("the late job", lambda: "is job nobody already" in bench.log("late"), 60)
    equal((bench.folder / "ran").read_text(), "x\n", "runs")


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
