"""Unmodified `wandb` clients against a real kedge server.

    KEDGE_PEER_PYTHON tests/wandb/client.py [BINARY] [NAME...]    run the tests (with this Python's wandb)
    python3 tests/wandb/client.py --table                         print the table of docs/reference/wandb.md

Each test says which calls of the client it shows to work; the table of the documentation is made of
that. Expected values are what the script itself logged.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "server"))
from server_process import ServerProcess  # noqa: E402

CLAIMS: list[tuple[str, str, object]] = []


def shows(*calls: str):
    """Marks a test with the client's calls that it shows to work."""

    def mark(test):
        CLAIMS.append((", ".join(calls), test.__name__.replace("_", " "), test))
        return test

    return mark


def same(found, expected, what=""):
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


class World:
    """A server, and the client set to it."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path) -> None:
        self.folder = folder
        self.server = ServerProcess(binary, folder / "data")
        self.count = 0

    def start(self):
        self.server.start()
        os.environ.update(self.environment())

    def environment(self) -> dict:
        return {
            "WANDB_BASE_URL": self.server.url,
            "WANDB_API_KEY": "k" * 40,
            "WANDB_DIR": str(self.folder),
            "WANDB_CACHE_DIR": str(self.folder / "cache"),
            "WANDB_CONFIG_DIR": str(self.folder / "config"),
            "WANDB_DATA_DIR": str(self.folder / "staging"),
            "WANDB_SILENT": "true",
            "HOME": str(self.folder),
        }

    def api(self):
        import wandb

        return wandb.Api()

    def read(self, run):
        return self.api().run(f"{run.entity}/{run.project}/{run.id}")

    def native(self, run) -> dict:
        return self.server.get(f"/api/v1/runs/{run.project}/{run.id}")

    def script(self, text: str, *arguments: str, **environment: str) -> subprocess.Popen:
        self.count += 1
        path = self.folder / f"script_{self.count}.py"
        path.write_text(textwrap.dedent(text))
        return subprocess.Popen(
            [sys.executable, path, *arguments],
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")


@shows("wandb.init", "Run.log", "Run.config", "Run.summary", "Run.finish", "Run.tags", "Run.notes")
def a_run_is_logged_and_read_back(world):
    import wandb

    config = {"lr": 0.1, "net": {"depth": 2}, "none": None, "list": [1, "a"]}
    with wandb.init(
        project="demo", name="first", config=config, tags=["x"], notes="n", group="g", job_type="t"
    ) as run:
        for i in range(20):
            run.log({"loss": 1 / (i + 1), "in": {"a": i}, "word": f"w{i}", "nan": float("nan")})
        run.summary["best"] = 0.5
        run.config.update({"late": 7})
    found = world.read(run)
    same(found.state, "finished")
    same(found.config, {**config, "late": 7})
    same(found.name, "first")
    same((found.tags, found.notes, found.group, found.job_type), (["x"], "n", "g", "t"))
    same((found.summary["loss"], found.summary["best"]), (1 / 20, 0.5))
    same(found.summary["in"]["a"], 19)
    rows = list(found.scan_history())
    same([row["loss"] for row in rows], [1 / (i + 1) for i in range(20)])
    same([row["word"] for row in rows], [f"w{i}" for i in range(20)])
    same([row["_step"] for row in rows], list(range(20)))
    native = world.native(run)
    same(native["config"]["net"]["depth"], 2)
    same(native["summary"]["loss"]["last"], 1 / 20)
    same(native["source"], "wandb")
    curve = world.server.history("demo", run.id, "in.a")
    same([float(point[1]) for point in curve], [float(i) for i in range(20)])


@shows("Run.log(step=)", "Run.define_metric")
def steps_may_be_chosen_and_summaries_defined(world):
    import wandb

    with wandb.init(project="demo") as run:
        run.define_metric("acc", summary="max")
        for step, acc in [(5, 0.1), (10, 0.9), (20, 0.4)]:
            run.log({"acc": acc}, step=step)
    found = world.read(run)
    same(
        [(row["_step"], row["acc"]) for row in found.scan_history()],
        [(5, 0.1), (10, 0.9), (20, 0.4)],
    )
    same(found.summary["acc"]["max"], 0.9)


@shows("wandb.Histogram", "wandb.Image", "wandb.Html", "wandb.Table")
def media_are_kept_and_shown(world):
    import numpy
    import wandb

    with wandb.init(project="media") as run:
        run.log(
            {
                "hist": wandb.Histogram(np_histogram=([1, 2, 3], [0.0, 1.0, 2.0, 3.0])),
                "image": wandb.Image(numpy.zeros((4, 4, 3), dtype=numpy.uint8), caption="black"),
                "html": wandb.Html("<b>bold</b>"),
                "table": wandb.Table(columns=["a", "b"], data=[[1, "x"], [2, "y"]]),
            }
        )
    found = world.read(run)
    row = next(iter(found.scan_history()))
    same(row["hist"]["values"], [1, 2, 3])
    same(row["image"]["caption"], "black")
    names = [file.name for file in found.files()]
    assert row["image"]["path"] in names and row["html"]["path"] in names, names
    with found.file(row["html"]["path"]).download(str(world.folder / "dl"), replace=True) as html:
        assert "<b>bold</b>" in html.read()
    records = world.server.get(f"/api/v1/runs/media/{run.id}/records?type=histogram")["records"]
    same(records[0]["body"]["counts"], [1, 2, 3])
    same(records[0]["body"]["edges"], [0, 1, 2, 3])
    table = world.api().artifact(f"{run.entity}/media/run-{run.id}-table:latest").get("table")
    same(table.data, [[1, "x"], [2, "y"]])


@shows("console output", "system metrics")
def console_and_system_metrics_arrive(world):
    script = world.script(
        """
        import sys, time, wandb
        run = wandb.init(project="console", settings=wandb.Settings(x_stats_sampling_interval=0.2))
        print("to stdout")
        print("to stderr", file=sys.stderr)
        for i in range(50):
            print(f"\\r{i * 2}%", end="")
        print("\\rdone")
        time.sleep(2)
        run.finish()
        with open(sys.argv[1], "w") as out:
            out.write(run.id)
        """,
        str(world.folder / "console_id"),
    )
    out = script.communicate(timeout=60)[0]
    same(script.returncode, 0, out)
    id = (world.folder / "console_id").read_text()
    lines = world.server.get(f"/api/v1/runs/console/{id}/console")["lines"]
    texts = [line["text"] for line in lines]
    assert "to stdout" in texts and "to stderr" in texts and "done" in texts, texts
    api = world.api()
    found = api.run(f"console/{id}")
    assert found.history(stream="system")["system.cpu"].notna().any()


@shows("Run.save", "Run.files", "File.download", "Run.upload_file", "File.delete")
def files_are_saved_listed_and_read(world):
    import wandb

    path = world.folder / "notes with space.txt"
    path.write_text("hello")
    with wandb.init(project="files") as run:
        run.save(str(path), base_path=str(world.folder))
    found = world.read(run)
    file = found.file("notes with space.txt")
    same(file.size, 5)
    same(file.md5, "XUFAKrxLKna5cZ2REBfFkg==")
    same(file.download(str(world.folder / "dl"), replace=True).read(), "hello")
    (world.folder / "later.txt").write_text("later")
    found.upload_file(str(world.folder / "later.txt"), root=str(world.folder))
    same(world.read(run).file("later.txt").size, 5)
    world.read(run).file("later.txt").delete()
    assert "later.txt" not in [each.name for each in world.read(run).files()]


@shows("Run.alert")
def alerts_reach_the_list_once_in_their_time(world):
    import wandb

    with wandb.init(project="alerts") as run:
        run.alert("loss is high", "9.9", level=wandb.AlertLevel.WARN, wait_duration=60)
        run.alert("loss is high", "9.8", level=wandb.AlertLevel.WARN, wait_duration=60)
    alerts = world.server.get("/api/v1/alerts?project=alerts")["alerts"]
    same(
        [(each["body"]["title"], each["body"]["level"]) for each in alerts],
        [("loss is high", "warning")],
    )


@shows("wandb.init(resume='must')", "wandb.init(resume='allow')", "wandb.init(resume='never')")
def runs_are_resumed_by_id(world):
    import wandb

    with wandb.init(project="resume", id="again1", config={"a": 1}, resume="allow") as run:
        for i in range(3):
            run.log({"x": i})
    with wandb.init(project="resume", id="again1", resume="must") as run:
        same(run.starting_step, 3)
        same(run.config["a"], 1)
        run.log({"x": 3})
    same([row["x"] for row in world.read(run).scan_history()], [0, 1, 2, 3])
    for resume, id in [("must", "nobody"), ("never", "again1")]:
        try:
            wandb.init(project="resume", id=id, resume=resume)
        except wandb.errors.UsageError:
            continue
        raise AssertionError(f"resume={resume} was accepted")


@shows("wandb.init(resume_from=)", "wandb.init(fork_from=)", "wandb.init(id=) again")
def runs_are_rewound_forked_and_overwritten(world):
    import wandb

    with wandb.init(project="fork", id="base") as run:
        for i in range(5):
            run.log({"x": i})
    with wandb.init(project="fork", fork_from="base?_step=2", id="child") as run:
        run.log({"x": 30})
    same([row["x"] for row in world.read(run).scan_history()], [0, 1, 2, 30])
    with wandb.init(project="fork", resume_from="base?_step=1") as run:
        run.log({"x": 20})
    same([row["x"] for row in world.read(run).scan_history()], [0, 1, 20])
    same(len(world.server.get("/api/v1/runs/fork/base/attempts")["attempts"]), 2)
    with wandb.init(project="fork", id="base") as run:
        run.log({"x": 7})
    same([row["x"] for row in world.read(run).scan_history()], [7])


@shows("mode='offline'", "wandb sync")
def offline_runs_are_synced(world):
    import wandb

    with wandb.init(project="offline", mode="offline", config={"k": 1}) as run:
        for i in range(10):
            run.log({"x": i})
        folder = pathlib.Path(run.dir).parent
    sync = [sys.executable, "-m", "wandb", "sync", str(folder)]
    done = subprocess.run(sync, capture_output=True, text=True, env=os.environ, timeout=60)
    same(done.returncode, 0, done.stdout + done.stderr)
    found = world.api().run(f"offline/{run.id}")
    same([row["x"] for row in found.scan_history()], list(range(10)))
    same(found.config["k"], 1)


@shows("Api.runs(filters=, order=)", "Runs paging", "Run.history(keys=)", "Api.projects")
def runs_are_searched_with_filters_and_orders(world):
    import wandb

    for i in range(6):
        with wandb.init(
            project="search", config={"lr": i / 10}, tags=["even"] * (i % 2 == 0)
        ) as run:
            run.log({"loss": 10 - i})
    api = world.api()

    def ids(filters=None, order="+created_at"):
        found = api.runs("search", filters=filters, order=order, per_page=2)
        return [round(each.config["lr"] * 10) for each in found]

    same(ids(), [0, 1, 2, 3, 4, 5])
    same(ids({"config.lr": {"$gt": 0.25}}), [3, 4, 5])
    same(ids({"$or": [{"config.lr": 0.1}, {"summary_metrics.loss": 6}]}), [1, 4])
    same(ids({"tags": "even"}, "-summary_metrics.loss"), [0, 2, 4])
    same(ids({"tags": {"$nin": ["even"]}}, "+summary_metrics.loss"), [5, 3, 1])
    same(ids({"$and": [{"state": "finished"}, {"displayName": {"$regex": ".*"}}]}), list(range(6)))
    same(len(api.runs("search", filters={"config.lr": {"$lte": 0.1}})), 2)
    assert "search" in [project.name for project in api.projects()]
    try:
        list(api.runs("search", filters={"config.lr": {"$near": 1}}))
    except Exception as error:  # the client wraps it in one of several types
        assert "$near" in str(error), error
    else:
        raise AssertionError("an unknown operator was accepted")


@shows("Run.update", "Run.delete", "Run.wait_until_finished", "Run.state")
def runs_are_changed_and_deleted(world):
    import wandb

    with wandb.init(project="change", config={"a": 1}) as run:
        run.log({"x": 1})
    found = world.read(run)
    found.config["b"] = 2
    found.tags.append("t")
    found.name = "other"
    found.notes = "said"
    found.update()
    found.summary["extra"] = 3
    found.summary.update()
    found = world.read(run)
    same((found.config["b"], found.tags, found.name, found.notes), (2, ["t"], "other", "said"))
    same((found.summary["extra"], found.summary["x"]), (3, 1))
    found.wait_until_finished()
    found.delete()
    try:
        world.read(run)
    except Exception as error:
        assert "ould not find" in str(error), error
    else:
        raise AssertionError("the run is still there")


@shows("runs of kedge and mlflow through wandb.Api")
def a_native_run_answers_too(world):
    make = {"id": "native1", "config": {"lr": 0.5}, "tags": ["n"]}
    post(world, "/api/v1/runs/mixed", make)
    post(world, "/api/v1/runs/mixed/native1/log", {"step": 1, "values": {"loss": 2.0}})
    post(world, "/api/v1/runs/mixed/native1/log", {"step": 2, "values": {"loss": 1.0}})
    found = world.api().run("mixed/native1")
    same(found.config, {"lr": 0.5})
    same([(row["_step"], row["loss"]) for row in found.scan_history()], [(1, 2.0), (2, 1.0)])
    same(found.summary["loss"], 1.0)


def post(world, path, body):
    request = urllib.request.Request(
        world.server.url + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@shows("exit codes", "Run.stop", "Run.mark_preempting")
def the_end_of_a_script_is_the_state_of_its_run(world):
    script = world.script("""
        import wandb
        run = wandb.init(project="ends", id="bad")
        run.log({"x": 1})
        raise RuntimeError("no")
        """)
    out = script.communicate(timeout=60)[0]
    assert script.returncode != 0, out
    same(world.api().run("ends/bad").state, "failed")


@shows("Artifact", "Run.log_artifact", "Run.use_artifact", "Artifact.download", "Artifact.verify")
def artifacts_are_logged_versioned_and_downloaded(world):
    import wandb

    folder = world.folder / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("hello")
    (folder / "sub" / "b.txt").write_text("b")
    with wandb.init(project="art") as run:
        artifact = wandb.Artifact("net", type="model", metadata={"acc": 0.5}, description="d")
        artifact.add_dir(str(folder))
        artifact.add_reference(f"file://{folder}/a.txt", name="ref.txt")
        logged = run.log_artifact(artifact, aliases=["best"])
        logged.wait()
        same((logged.version, sorted(logged.aliases)), ("v0", ["best", "latest"]))
    with wandb.init(project="art") as run:
        again = wandb.Artifact("net", type="model")
        again.add_dir(str(folder))
        again.add_reference(f"file://{folder}/a.txt", name="ref.txt")
        same(run.log_artifact(again).wait().version, "v0")
        (folder / "sub" / "b.txt").write_text("other")
        changed = wandb.Artifact("net", type="model")
        changed.add_dir(str(folder))
        same(run.log_artifact(changed).wait().version, "v1")
    with wandb.init(project="art") as run:
        used = run.use_artifact("net:best")
        same((used.version, used.metadata, used.description), ("v0", {"acc": 0.5}, "d"))
        path = pathlib.Path(used.download(str(world.folder / "got")))
        same((path / "a.txt").read_text(), "hello")
        same((path / "sub" / "b.txt").read_text(), "b")
        used.verify(str(path))
        same(sorted(file.name for file in used.files()), ["a.txt", "ref.txt", "sub/b.txt"])
    api = world.api()
    same(sorted(each.version for each in api.artifacts("model", "art/net")), ["v0", "v1"])
    same(api.artifact("art/net:latest").version, "v1")


@shows(
    "Artifact.aliases", "Artifact.metadata", "Artifact.tags", "Artifact.save", "Artifact.delete"
)
def artifacts_are_edited_and_deleted(world):
    import wandb

    with wandb.init(project="edit") as run:
        for i in range(2):
            artifact = wandb.Artifact("data", type="dataset")
            with artifact.new_file("x.txt") as file:
                file.write(str(i))
            run.log_artifact(artifact).wait()
    api = world.api()
    first = api.artifact("edit/data:v0")
    first.aliases.append("gold")
    first.metadata["n"] = 1
    first.tags = ["t1"]
    first.description = "words"
    first.save()
    again = world.api().artifact("edit/data:gold")
    same(
        (again.version, again.metadata, again.description, again.tags),
        ("v0", {"n": 1}, "words", ["t1"]),
    )
    again.aliases.remove("gold")
    again.save()
    world.api().artifact("edit/data:v0").delete()
    same([each.version for each in world.api().artifacts("dataset", "edit/data")], ["v1"])


@shows("Artifact.logged_by", "Artifact.used_by", "Run.logged_artifacts", "Run.used_artifacts")
def lineage_goes_both_ways(world):
    import wandb

    with wandb.init(project="line") as maker:
        artifact = wandb.Artifact("d", type="dataset")
        with artifact.new_file("x") as file:
            file.write("1")
        maker.log_artifact(artifact).wait()
    with wandb.init(project="line") as user:
        user.use_artifact("d:latest")
    found = world.api().artifact("line/d:v0")
    same(found.logged_by().id, maker.id)
    same([run.id for run in found.used_by()], [user.id])
    same([each.name for each in world.read(maker).logged_artifacts()], ["d:v0"])
    same([each.name for each in world.read(user).used_artifacts()], ["d:v0"])


@shows("Artifact.link", "Artifact.unlink", "Artifact.linked_artifacts")
def artifacts_are_linked_into_collections(world):
    import wandb

    with wandb.init(project="link") as run:
        artifact = wandb.Artifact("m", type="model")
        with artifact.new_file("x") as file:
            file.write("1")
        logged = run.log_artifact(artifact).wait()
        run.link_artifact(logged, "link/chosen", aliases=["prod"])
    linked = world.api().artifact("link/chosen:prod")
    same((linked.version, linked.collection.name, linked.source_name), ("v0", "chosen", "m:v0"))
    same(pathlib.Path(linked.download(str(world.folder / "linked")), "x").read_text(), "1")
    linked.unlink()
    assert "chosen" not in [each.collection.name for each in logged.linked_artifacts]


@shows("Artifact.new_draft", "Artifact(incremental=True)")
def versions_are_made_from_versions(world):
    import wandb

    with wandb.init(project="draft") as run:
        first = wandb.Artifact("d", type="dataset")
        for name in "ab":
            with first.new_file(name) as file:
                file.write(name)
        run.log_artifact(first).wait()
        draft = run.use_artifact("d:latest").new_draft()
        with draft.new_file("c") as file:
            file.write("c")
        draft.remove("a")
        run.log_artifact(draft).wait()
        more = wandb.Artifact("d", type="dataset", incremental=True)
        with more.new_file("e") as file:
            file.write("e")
        run.log_artifact(more).wait()
    api = world.api()
    same(sorted(api.artifact("draft/d:v1").manifest.entries), ["b", "c"])
    same(sorted(api.artifact("draft/d:v2").manifest.entries), ["b", "c", "e"])
    path = pathlib.Path(api.artifact("draft/d:v2").download(str(world.folder / "draft")))
    same([(path / name).read_text() for name in "bce"], ["b", "c", "e"])


@shows("wandb.sweep", "wandb.agent(function, count=)", "Api.sweep", "Sweep.best_run", "Sweep.runs")
def a_sweep_hands_out_its_points_to_a_function(world):
    import wandb

    seen = []

    def train():
        with wandb.init() as run:
            seen.append((run.config["a"], run.config["b"]))
            run.log({"loss": run.config["a"] * 10 + run.config["b"]})

    config = {
        "method": "grid",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"a": {"values": [1, 2]}, "b": {"values": [0, 5]}},
    }
    id = wandb.sweep(config, project="sweeps")
    wandb.agent(id, function=train, project="sweeps", count=4)
    same(sorted(seen), [(1, 0), (1, 5), (2, 0), (2, 5)])
    sweep = world.api().sweep(f"sweeps/{id}")
    same(len(sweep.runs), 4)
    best = sweep.best_run()
    same((best.config["a"], best.config["b"]), (1, 0))
    same(sweep.expected_run_count, 4)


@shows("wandb sweep", "wandb agent --count", "wandb sweep --pause, --resume, --stop")
def a_sweep_runs_a_program_from_the_command_line(world):
    program = world.folder / "trial.py"
    program.write_text(textwrap.dedent("""
            import argparse, wandb
            parser = argparse.ArgumentParser()
            parser.add_argument("--lr", type=float)
            lr = parser.parse_args().lr
            with wandb.init() as run:
                assert run.config["lr"] == lr
                run.log({"loss": lr})
            """))
    (world.folder / "sweep.yaml").write_text(textwrap.dedent(f"""
            program: trial.py
            method: random
            project: cli
            metric: {{name: loss, goal: minimize}}
            parameters:
              lr: {{min: 0.001, max: 0.1, distribution: log_uniform_values}}
            command: ["{sys.executable}", "${{program}}", "${{args}}"]
            """))

    def wandb_cli(*words):
        done = subprocess.run(
            [sys.executable, "-m", "wandb", *words],
            capture_output=True,
            text=True,
            cwd=world.folder,
            env={**os.environ, "WANDB_SILENT": "false"},
            timeout=120,
        )
        same(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    out = wandb_cli("sweep", "sweep.yaml")
    id = out.split("Creating sweep with ID: ")[1].split()[0] if "with ID: " in out else ""
    assert id, out
    wandb_cli("agent", "--count", "2", f"kedge/cli/{id}")
    sweep = world.api().sweep(f"cli/{id}")
    same([run.state for run in sweep.runs], ["finished", "finished"])
    for run in sweep.runs:
        assert 0.001 <= run.config["lr"] <= 0.1
    for option, state in [("--pause", "PAUSED"), ("--resume", "RUNNING"), ("--stop", "FINISHED")]:
        wandb_cli("sweep", option, f"kedge/cli/{id}")
        same(world.api().sweep(f"cli/{id}").state, state)


@shows("the server killed and started again while a run logs")
def nothing_is_lost_when_the_server_is_killed(world):
    script = world.script("""
        import sys, time, wandb
        run = wandb.init(project="kill", id="through", settings=wandb.Settings(
            x_file_stream_transmit_interval=0.3))
        for i in range(300):
            run.log({"x": i})
            time.sleep(0.02)
        run.finish()
        """)

    def steps():
        with contextlib.suppress(Exception):
            return world.native_steps("kill", "through")
        return 0

    wait_for(lambda: steps() > 20)
    for _ in range(2):
        world.server.kill()
        time.sleep(0.5)
        world.server.start()
        time.sleep(0.7)
    out = script.communicate(timeout=180)[0]
    same(script.returncode, 0, out)
    rows = [row["x"] for row in world.api().run("kill/through").scan_history()]
    same(rows, list(range(300)))


@shows("the server killed and started again while an artifact is sent")
def an_artifact_arrives_whole_when_the_server_is_killed(world):
    script = world.script("""
        import os, wandb
        run = wandb.init(project="killart", id="sender")
        artifact = wandb.Artifact("big", type="dataset")
        for i in range(150):
            with artifact.new_file(f"{i}.bin", mode="wb") as file:
                file.write(os.urandom(200_000))
        print("sending", flush=True)
        run.log_artifact(artifact)
        run.finish()
        """)
    for line in script.stdout:
        if "sending" in line:
            break
    time.sleep(0.4)
    world.server.kill()
    time.sleep(0.5)
    world.server.start()
    out = script.communicate(timeout=180)[0]
    same(script.returncode, 0, out)
    artifact = world.api().artifact("killart/big:v0")
    same(len(artifact.manifest.entries), 150)
    artifact.download(str(world.folder / "big"))
    artifact.verify(str(world.folder / "big"))


def native_steps(self, project, run):
    return self.server.get(f"/api/v1/runs/{project}/{run}")["last_step"] or 0


World.native_steps = native_steps


def render_table() -> str:
    lines = ["| calls | what is shown |", "| --- | --- |"]
    for calls, claim, _ in CLAIMS:
        quoted = ", ".join(f"`{call}`" for call in calls.split(", "))
        lines.append(f"| {quoted} | {claim} |")
    return "\n".join(lines)


def main() -> int:
    if "--table" in sys.argv:
        print(render_table())
        return 0
    import wandb

    arguments = sys.argv[1:]
    binary = HERE.parents[1] / "build/bin/kedge"
    if arguments and os.path.exists(arguments[0]):
        binary = pathlib.Path(arguments.pop(0)).resolve()
    failed = []
    with tempfile.TemporaryDirectory(prefix="wandb-client-") as folder:
        world = World(binary, pathlib.Path(folder))
        world.start()
        try:
            for _, claim, test in CLAIMS:
                if arguments and test.__name__ not in arguments:
                    continue
                start = time.monotonic()
                try:
                    test(world)
                    print(f"ok      {claim}  {time.monotonic() - start:.1f} s", flush=True)
                except Exception:
                    traceback.print_exc()
                    print(f"FAILED  {claim}", flush=True)
                    failed.append(claim)
                    with contextlib.suppress(Exception):
                        wandb.finish()
        finally:
            world.server.stop()
        if failed:
            print(world.server.log.read_text()[-3000:])
    print(f"wandb {wandb.__version__}: {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
