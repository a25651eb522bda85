"""Plots and media beyond pictures: kept as they were sent, and read back by the client."""

import json
import wave

from world import same, shows


@shows(
    "wandb.plot.line",
    "wandb.plot.bar",
    "wandb.plot.scatter",
    "wandb.plot.histogram",
    "wandb.plot.line_series",
    "wandb.plot.confusion_matrix",
    "wandb.plot_table",
)
def plots_keep_their_table_and_their_kind(world):
    import wandb

    table = wandb.Table(columns=["x", "y"], data=[[1, 2.0], [2, 3.5]])
    plots = {
        "line": wandb.plot.line(table, "x", "y", title="a line"),
        "bar": wandb.plot.bar(table, "x", "y"),
        "scatter": wandb.plot.scatter(table, "x", "y"),
        "histogram": wandb.plot.histogram(table, "y"),
        "series": wandb.plot.line_series(xs=[0, 1], ys=[[1, 2], [3, 4]], keys=["a", "b"]),
        "confusion": wandb.plot.confusion_matrix(
            y_true=[0, 1, 1], preds=[0, 1, 0], class_names=["cat", "dog"]
        ),
        "own": wandb.plot_table("me/mine", table, {"x": "x", "y": "y"}),
    }
    with wandb.init(project="plots") as run:
        run.log(plots)
    found = world.read(run)
    kept = found.rawconfig["_wandb"]["visualize"]
    same(sorted(kept), sorted(plots))
    same(kept["line"]["panel_config"]["stringSettings"]["title"], "a line")
    same(kept["own"]["panel_config"]["panelDefId"], "me/mine")
    row = next(iter(found.scan_history()))
    same(row["line_table"]["nrows"], 2)
    get = world.api().artifact(f"{run.entity}/plots/run-{run.id}-line_table:latest").get
    same(get("line_table").data, [[1, 2.0], [2, 3.5]])
    get = world.api().artifact(f"{run.entity}/plots/run-{run.id}-confusion_table:latest").get
    same(
        get("confusion_table").data,
        [["cat", "cat", 1], ["cat", "dog", 0], ["dog", "cat", 1], ["dog", "dog", 1]],
    )


@shows("wandb.Audio", "wandb.Video", "wandb.Object3D", "wandb.Molecule", "Image(boxes=, masks=)")
def media_of_every_kind_come_back_as_they_were(world):
    import numpy
    import wandb

    sound = world.folder / "tone.wav"
    with wave.open(str(sound), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(b"\x00\x01" * 100)
    film = world.folder / "film.mp4"
    film.write_bytes(b"\x00\x00\x00\x18ftypmp42" + bytes(range(200)))
    water = world.folder / "water.pdb"
    water.write_text("HETATM    1  O   HOH A   1       0.000   0.000   0.000\nEND\n")
    box = {
        "position": {"minX": 0.1, "maxX": 0.5, "minY": 0.2, "maxY": 0.9},
        "class_id": 1,
        "box_caption": "cat",
    }
    with wandb.init(project="allmedia") as run:
        run.log(
            {
                "sound": wandb.Audio(str(sound), caption="a tone"),
                "film": wandb.Video(str(film), format="mp4"),
                "points": wandb.Object3D(numpy.array([[0, 0, 1], [1, 2, 3]])),
                "water": wandb.Molecule(str(water)),
                "seen": wandb.Image(
                    numpy.zeros((4, 4, 3), dtype=numpy.uint8),
                    boxes={"found": {"box_data": [box], "class_labels": {1: "cat"}}},
                    masks={"truth": {"mask_data": numpy.eye(4, dtype=numpy.uint8)}},
                ),
            }
        )
    found = world.read(run)
    row = next(iter(found.scan_history()))

    def fetch(path):
        with found.file(path).download(str(world.folder / "media"), replace=True) as file:
            pass
        return (world.folder / "media" / path).read_bytes()

    same(fetch(row["sound"]["path"]), sound.read_bytes())
    same(row["sound"]["caption"], "a tone")
    same(fetch(row["film"]["path"]), film.read_bytes())
    same(fetch(row["water"]["path"]), water.read_bytes())
    same(json.loads(fetch(row["points"]["path"])), [[0, 0, 1], [1, 2, 3]])
    boxes = fetch(row["seen"]["boxes"]["found"]["path"])
    assert b'"box_caption":"cat"' in boxes, boxes
    assert fetch(row["seen"]["masks"]["truth"]["path"]).startswith(b"\x89PNG")
