"""What jobs do when all goes well: arrays, continuations, dependencies, sweeps, ranks."""

import pathlib
import re
import subprocess

from bench import CONFIG, SMALL, Bench, contains, digests, equal
from cluster import wait_until


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
    tasks = bench.wait_for(one, "done") + bench.wait_for(many, "done")
    equal([task["restarts"] for task in tasks], [2, 2, 2], "restarts")
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


STEPS = """
name: steps
job: {scheduler: slurm, cpus: 1, memory: 100MB, time: 5m}
steps:
  flaky: {command: [./flaky.sh], retries: 1}
  good: {command: [sh, -c, echo good >>order], after: flaky}
  bad: {command: [sh, -c, exit 3]}
  mend: {command: [sh, -c, echo mend >>order], after: {bad: failed}}
  always: {command: [sh, -c, echo always >>order], after: {good: any, mend: any}}
  never: {command: [sh, -c, echo never >>order], after: {bad: ok}}
"""


def steps_wait_for_each_other(bench: Bench) -> None:
    bench.write("flaky.sh", "#!/bin/sh\n[ -e tried ] && exit 0\n: >tried\nexit 1\n")
    (bench.folder / "steps.yaml").write_text(STEPS)
    bench.kedge("submit", "steps.yaml")
    for name, state in [("always", "done"), ("bad", "failed"), ("never", "cancelled")]:
        bench.wait_for(f"steps-{name}", state, 180)
    order = (bench.folder / "order").read_text().split()
    equal((sorted(order[:2]), order[2:]), (["good", "mend"], ["always"]), "order")
    equal(bench.tasks("steps-flaky")[0]["restarts"], 1, "retries")


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


def retried_trials_run_again(bench: Bench) -> None:
    bench.write(
        "work.sh",
        '#!/bin/sh\nfor a in "$@"; do case $a in --x=*) x=${a#--x=};; esac; done\n'
        '[ $x != 2 ] || [ -e mended ] || exit 3\necho "loss = 0.$x"\n',
    )
    (bench.folder / "sweep.yaml").write_text(
        "program: work.sh\nmethod: grid\nmetric: {name: loss}\nparameters: {x: [1, 2, 3]}\n"
    )
    job = bench.submit("sweep.yaml", *SMALL)
    wait_until("the end", lambda: set(bench.states(job)) == {"done", "failed"})
    equal(sorted(bench.states(job)), ["done", "done", "failed"], "states")
    (bench.folder / "mended").touch()
    bench.kedge("retry", "--failed")
    bench.wait_for(job, "done")
    sweep = next((bench.folder / "sweeps").iterdir()).name
    text = bench.kedge("sweep", "show", sweep).stdout
    finished = [line for line in text.splitlines() if line.split()[1:2] == ["finished"]]
    equal(len(finished), 3, "finished trials")
    done = bench.kedge("submit", sweep, *SMALL, check=False)
    equal(done.returncode, 2, "a sweep that is over")
    contains(done.stderr, "all 3 trials")


def tutorial_array_works_on_a_sweep(bench: Bench) -> None:
    """The commands of the tutorial, word for word: what it makes, and the block for a cluster."""
    page = pathlib.Path(__file__).parents[2] / "docs/tutorials/sweeps.md"
    blocks = re.findall(r"^```sh.*?\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    (made,) = [block for block in blocks if block.startswith("mkdir workshop")]
    (array,) = [block for block in blocks if "sbatch" in block]
    files = made[: made.index("kedge sweep")]
    path = f"{pathlib.Path(bench.program).parent}:{bench.environment['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", files + array],
        cwd=bench.folder,
        env=bench.environment | {"PATH": path},
        capture_output=True,
        text=True,
    )
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "Submitted batch job")
    bench.folder /= "workshop"
    sweep = (bench.folder / "id").read_text().strip()

    def shown() -> str:
        return bench.kedge("sweep", "show", sweep).stdout

    wait_until("12 trials", lambda: "12 of 12 runs: 12 finished" in shown(), 180)
    outputs = "".join(file.read_text() for file in bench.folder.glob("slurm-*_*.out"))
    equal(len(list(bench.folder.glob("slurm-*_*.out"))), 12, f"tasks; they said: {outputs}")


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
