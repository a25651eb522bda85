"""Artifacts: logged, used, edited, linked."""

import pathlib

from world import same, shows


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
