"""What a workshop logs: pictures with captions, pages, tables, plots, sounds, films, shapes."""

import wave

import numpy
import wandb

rng = numpy.random.default_rng(1)


def picture(shade):
    pixels = numpy.zeros((24, 32, 3), dtype=numpy.uint8)
    pixels[:, :, 0] = shade
    pixels[:, :, 2] = numpy.linspace(0, 255, 32, dtype=numpy.uint8)
    return pixels


def write_tone(path):
    with wave.open(path, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        tone = 12000 * numpy.sin(numpy.arange(4000) * 2 * numpy.pi * 440 / 8000)
        out.writeframes(tone.astype("<i2").tobytes())


write_tone("tone.wav")
with open("water.pdb", "w") as file:
    file.write("HETATM    1  O   HOH A   1       0.000   0.000   0.000\nEND\n")
with open("film.mp4", "wb") as film:
    film.write(b"\x00\x00\x00\x18ftypmp42" + bytes(200))

truth = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
said = [0, 0, 1, 1, 1, 1, 2, 2, 2, 0]
probabilities = numpy.full((10, 3), 0.1)
for row, (true, guess) in enumerate(zip(truth, said, strict=True)):
    probabilities[row, guess] = 0.7 + 0.01 * row
    probabilities[row, true] += 0.1
probabilities /= probabilities.sum(axis=1, keepdims=True)
names = ["cat", "dog", "ship"]

with wandb.init(project="shown", id="media1", name="media run") as run:
    for step in range(2):
        box = {
            "position": {"minX": 0.1, "maxX": 0.5, "minY": 0.2, "maxY": 0.9},
            "class_id": 1,
            "box_caption": "cat",
        }
        mistakes = wandb.Table(columns=["picture", "truth", "said", "confidence"])
        for row, (true, guess) in enumerate(zip(truth, said, strict=True)):
            image = wandb.Image(picture(25 * row), caption=f"row {row}")
            mistakes.add_data(image, names[true], names[guess], probabilities[row, guess])
        numbers = wandb.Table(columns=["x", "y"], data=[[i, i * i] for i in range(10)])
        votes = wandb.Table(columns=["label", "votes"], data=[["cat", 3], ["dog", 5], ["ship", 2]])
        scores = wandb.Table(columns=["score"], data=[[s] for s in rng.normal(size=200)])
        run.log(
            {
                "one": wandb.Image(picture(40), caption=f"one at {step}"),
                "many": [wandb.Image(picture(80 * i), caption=f"number {i}") for i in range(3)],
                "boxed": wandb.Image(picture(9), boxes={"found": {"box_data": [box]}}),
                "page": wandb.Html("<h1>A report</h1><script>document.title='out'</script>"),
                "mistakes": mistakes,
                "confusion": wandb.plot.confusion_matrix(
                    y_true=truth, preds=said, class_names=names, title="Who is who"
                ),
                "roc": wandb.plot.roc_curve(truth, probabilities, labels=names, title="The ROC"),
                "pr": wandb.plot.pr_curve(truth, probabilities, labels=names),
                "bar": wandb.plot.bar(votes, "label", "votes", title="Votes"),
                "line": wandb.plot.line(numbers, "x", "y", title="Squares"),
                "scatter": wandb.plot.scatter(numbers, "x", "y", title="Squares as points"),
                "histogram": wandb.plot.histogram(scores, "score", title="Scores"),
                "series": wandb.plot.line_series(
                    xs=[0, 1, 2], ys=[[1, 2, 3], [3, 2, 1]], keys=["up", "down"], title="Two"
                ),
                "own": wandb.plot_table("me/mine", numbers, {"x": "x", "y": "y"}),
                "weights": wandb.Histogram(rng.normal(size=500)),
                "tone": wandb.Audio("tone.wav", caption="an A"),
                "film": wandb.Video("film.mp4", format="mp4", caption="a film"),
                "points": wandb.Object3D(numpy.array([[0, 0, 1], [1, 2, 3]])),
                "water": wandb.Molecule("water.pdb"),
            }
        )
