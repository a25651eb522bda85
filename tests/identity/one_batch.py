#!/usr/bin/env python3
"""One step has the gradient of one whole batch, however its samples are divided.

The batch is divided by ranks, by micro-batches, by both, evenly and not, with samples that cannot
be decoded, and with conversations that share windows or have one each. The optimizer is plain SGD
with a rate of 1, so that weights differ by the gradient.
"""

import argparse
import array
import json
import pathlib
import shutil
import sys
import tempfile

from ends import ROOT, RUN, read_tensors, train
from rows import CONFIG, write_data

TOLERANCE = 1e-6
SGD = ["optimizer.name=sgd", "optimizer.lr=1", "optimizer.momentum=0", "optimizer.weight_decay=0"]
ONE_STEP = ["train.max_steps=1", "train.device=cpu", "train.precision=fp32", "resume=never"]
PICTURES = [
    "model.name=mlp",
    "data.name=imagefolder",
    "data.val_ratio=0.5",
    "transform.train=[resize 8 8]",
    "transform.eval=[resize 8 8]",
]
TOKENS = ["model.name=gpt-nano", "data.name=tokens", "data.context=39"]
CHATS = [
    "model.name=gpt-nano",
    "data.name=chat",
    "data.context=52",
    "data.val_ratio=0",
    f"data.tokenizer={ROOT / 'tests/fixtures/data/tokenizers/llama3.json'}",
    "data.chat_template=../data/chats.jinja",
]

# Windows differ in how many of their tokens count; in every third none does.
def write_masked(data: pathlib.Path) -> None:
    shutil.copytree(data / "tokens", data / "masked")
    size = (data / "masked/train.bin").stat().st_size // 2
    mask = bytes(i // 39 % 3 != 0 and i * i % 7 < 1 + i // 39 % 5 for i in range(size))
    (data / "masked/train.mask").write_bytes(mask)


# A long and a short conversation in each window, as many as there are windows.
def write_chats(data: pathlib.Path) -> None:
    (data / "chats").mkdir()
    (data / "chats.jinja").write_text(
        "{% for m in messages %}{{ m.role }}\n{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}assistant\n{% endif %}"
    )
    lines = [
        json.dumps({"prompt": "q" * (1 + i % 3), "completion": "z" * size}) + "\n"
        for i in range(SAMPLES)
        for size in (13 + i % 4, 1 + i % 3)
    ]
    (data / "chats/train.jsonl").write_text("".join(lines))
    (data / "chats/val.jsonl").write_text(lines[0])


SAMPLES = 30  # of an epoch, which is the whole batch
DATA = {
    "pictures": [*PICTURES, "data.path=../data/pictures"],
    "damaged pictures": [*PICTURES, "data.path=../data/damaged", "data.on_error=skip"],
    "tokens": [*TOKENS, "data.path=../data/tokens"],
    "masked tokens": [*TOKENS, "data.path=../data/masked"],
    "packed conversations": [*CHATS, "data.path=../data/chats"],
}
# What the whole batch is compared as, where it is not the first of the divisions.
WHOLE = {"packed conversations": ["data.pack=false", f"loader.batch_size={2 * SAMPLES}"]}

# Ranks and the size of a micro-batch of all of them.
DIVISIONS = [(1, 30), (1, 10), (1, 7), (1, 29), (2, 30), (2, 8), (3, 30), (3, 11), (2, 2)]


def gradient_step(kedge: pathlib.Path, folder: pathlib.Path, values: list[str]) -> dict:
    folder.mkdir()
    (folder / "config.yaml").write_text(CONFIG)
    if error := train(kedge, folder, [*SGD, *ONE_STEP, *values]):
        sys.exit(f"{' '.join(values)}: {error}")
    last = folder / "runs/default" / RUN / "checkpoints/last"
    state = json.loads((last / "manifest.json").read_text())["state"]
    if state["epoch"] != 1 or state["step"] != 1:
        sys.exit(f"{' '.join(values)}: one step was not the whole epoch")
    tensors = read_tensors(last)
    return {
        name.partition("/")[2]: array.array("f", content)
        for name, (kind, content) in tensors.items()
        if name.startswith("model") and kind == "F32"
    }


def distance(one: dict, other: dict) -> float:
    return max(
        abs(a - b) for name in one for a, b in zip(one[name], other[name], strict=True)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kedge", type=pathlib.Path, default=ROOT / "build/bin/kedge")
    kedge = parser.parse_args().kedge.resolve()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="kedge-one-batch-") as text:
        scratch = pathlib.Path(text)
        write_data(scratch / "data")
        write_masked(scratch / "data")
        write_chats(scratch / "data")
        for what, values in DATA.items():
            whole = None
            if what in WHOLE:
                folder = scratch / f"{what} whole".replace(" ", "-")
                whole = gradient_step(kedge, folder, [*values, *WHOLE[what]])
            for ranks, size in DIVISIONS:
                folder = scratch / f"{what} {ranks} {size}".replace(" ", "-")
                keys = [
                    f"dist.ranks={ranks}",
                    f"loader.batch_size={size}",
                    f"train.accumulate={-(-SAMPLES // size)}",
                ]
                came = gradient_step(kedge, folder, [*values, *keys])
                whole = whole or came
                off = distance(whole, came)
                failures += off > TOLERANCE
                word = "same" if off <= TOLERANCE else "DIFFERS"
                print(f"{what}, {ranks} ranks, micro-batches of {size}: {word} (to {off:.1e})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
