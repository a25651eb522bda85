"""Runs: logged, resumed, read, searched, changed."""

import json
import pathlib
import subprocess
import sys
import unittest
import urllib.request

from world import same, shows


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
    done = subprocess.run(
        sync, capture_output=True, text=True, env=world.clean_environment(), timeout=60
    )
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


@shows("wandb.watch")
def watched_models_log_gradients_and_parameters(world):
    import wandb

    try:
        import torch
    except ImportError:
        raise unittest.SkipTest("this Python has no torch") from None
    run = wandb.init(project="watch")
    model = torch.nn.Linear(3, 2)
    run.watch(model, log="all", log_freq=1)
    for step in range(3):
        model.zero_grad()
        model(torch.ones(4, 3) * (step + 1)).sum().backward()
        run.log({"loss": step})
    run.finish()
    rows = list(world.read(run).scan_history())
    same(len(rows), 3)
    for name in ("gradients/weight", "gradients/bias", "parameters/weight", "parameters/bias"):
        same(rows[-1][name]["_type"], "histogram", name)
    same(sum(rows[-1]["gradients/weight"]["values"]), 6, "a weight each")
    kinds = world.server.get(f"/api/v1/runs/{run.project}/{run.id}/records?type=histogram")
    assert any(record["key"] == "gradients/weight" for record in kinds["records"]), kinds


@shows("wandb verify")
def the_clients_own_check_passes(world):
    done = subprocess.run(
        [sys.executable, "-m", "wandb", "verify", "--host", world.server.url],
        capture_output=True,
        text=True,
        cwd=world.folder,
        env=world.clean_environment(WANDB_SILENT="false"),
        timeout=300,
    )
    out = done.stdout + done.stderr
    same(done.returncode, 0, out)
    failed = [line.split("....")[0] for line in out.splitlines() if "\u274c" in line]
    # This server speaks plain HTTP.
    same(failed, ["Checking requests to base url", "Checking requests made over signed URLs"], out)
