"""The trainings that are compared: one row each, small enough for two cores.

Checkpoints are written while training waits: beside it, a save that is due while another is being
written is put off, and by how many steps depends on the disk.

A row is about 60 images of 16x16 or a few thousand bytes of text, batches of 7 (which neither 2 nor
3 ranks divide), 50 optimizer steps over several epochs with their validations, checkpoints at 20
and 40 steps and at the end. Smaller than what a model's name means:

- catdog has images of 40x40, its smallest being 37x37;
- the ResNets have images of 8x8, SGD, clipping and 8 steps: their widths are fixed, and 50 steps
  with three ranks and accumulation take minutes on two cores;
- mlp has hidden layers of 32 and 16, vit 2 layers of width 48, gpt2 and gpt-mini 2 layers of width
  48 and gpt-micro 2 of its 4 layers.
"""

import dataclasses
import pathlib
import random
import shutil
import struct
import zlib

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"

CONFIG = """
run: {name: row}
data: {name: synthetic, samples: 60, image_size: 16, channels: 3, val_ratio: 0.2}
loader: {batch_size: 7, workers: 0}
train: {device: cpu, threads: 1, deterministic: true, log_every: 1, epochs: 200, max_steps: 50}
checkpoint: {every: 20 steps, async: false}
track: {predictions: 3, system_every: 0}
"""

TEXT = ("data.name=text", "data.path=../data/text.txt", "data.context=16")
SMALL_TRANSFORMER = ("model.layers=2", "model.width=48", "model.heads=3")
RESNET = (
    "data.image_size=8",
    "optimizer.name=sgd",
    "optimizer.lr=0.001",
    "train.clip_norm=1",  # BatchNorm over the two pixels that a rank has at the end explodes
    "train.max_steps=8",
    "checkpoint.every=never",
)
MODELS = {
    "catdog": ("data.image_size=40",),
    "mlp": ("model.hidden=[32, 16]", "model.dropout=0.1"),
    "resnet18": RESNET,
    "resnet34": RESNET,
    "resnet50": RESNET,
    "vit": SMALL_TRANSFORMER,
    "gpt2": SMALL_TRANSFORMER,
    "gpt-mini": SMALL_TRANSFORMER,
    "gpt-micro": ("model.layers=2",),
}
HEAVY = {"resnet34", "resnet50"}


@dataclasses.dataclass(frozen=True)
class Row:
    """One training. `begin`: what its first attempt is told, which ends with `begin_code`."""

    name: str
    values: tuple[str, ...]
    ranks: int = 1
    precision: str = "fp32"
    accumulate: int = 1
    begin: tuple[str, ...] = ()
    begin_code: int = 0

    def label(self) -> str:
        return f"{self.name} {self.ranks} {self.precision} {self.accumulate}"

    def keys(self) -> list[str]:
        # Programs before 935e28d weighed the micro-batches of a step alike, whatever samples they
        # had. The uneven ones are in one_batch.py.
        even = ["loader.drop_last=true"] if self.accumulate > 1 else []
        return [
            *self.values,
            *even,
            f"dist.ranks={self.ranks}",
            f"train.precision={self.precision}",
            f"train.accumulate={self.accumulate}",
        ]


def model_values(model: str) -> tuple[str, ...]:
    data = TEXT if model.startswith("gpt") else ()
    return (f"model.name={model}", *data, *MODELS.get(model, ()))


def model_rows(models: list[str], is_quick: bool) -> list[Row]:
    """Every model x ranks x precision x accumulation; quick: two opposite corners of that."""
    corners = [(1, "fp32", 1), (2, "bf16", 3)]
    whole = [(r, p, a) for r in (1, 2, 3) for p in ("fp32", "bf16") for a in (1, 3)]
    return [
        Row(model, model_values(model), *corner)
        for model in models
        if not (is_quick and model in HEAVY)
        for corner in (corners if is_quick else whole)
    ]


def variant(name: str, model: str, *values: str, **fields) -> Row:
    return Row(f"{model} {name}", (*model_values(model), *values), **fields)


# What an optimizer or schedule needs besides its name to do all it can.
OPTIMIZER_VALUES = {
    "sgd": ("optimizer.lr=0.05", "optimizer.nesterov=true"),
    "lion": ("optimizer.lr=0.0003", "optimizer.beta2=0.99"),
    "muon": ("optimizer.lr=0.02", "optimizer.rest=sgd", "optimizer.keep_norm=true"),
}
SCHEDULE_VALUES = {
    "step": ("schedule.step_size=8", "schedule.gamma=0.5"),
    "multi_step": ("schedule.milestones=[5, 20, 40]", "schedule.warmup=4"),
    "exponential": ("schedule.gamma=0.9", "schedule.unit=epoch"),
    "cosine": ("schedule.warmup=5", "schedule.floor=0.1", "schedule.length=40"),
    "linear": ("schedule.warmup=2", "schedule.unit=epoch", "schedule.length=6"),
    "inverse_sqrt": ("schedule.warmup=10", "schedule.warmup_start=0.1"),
    "plateau": ("schedule.metric=val/loss", "schedule.patience=0", "optimizer.lr=0.05"),
}


def plugin_rows(optimizers: list[str], schedules: list[str]) -> list[Row]:
    rows = [
        variant(
            f"optimizer={name}",
            "convnet",
            f"optimizer.name={name}",
            "optimizer.weight_decay=0.01",
            *OPTIMIZER_VALUES.get(name, ()),
            ranks=ranks,
        )
        for name in optimizers
        for ranks in (1, 2)
    ]
    rows.append(variant("optimizer=muon adamw", "gpt-nano", "optimizer.name=muon"))
    rows.append(variant("decay=matrices", "vit", "optimizer.decay=matrices"))
    for name in schedules:
        keys = (f"schedule.name={name}", *SCHEDULE_VALUES.get(name, ()))
        rows.append(variant(f"schedule={name}", "mlp", *keys))
    return rows


AUGMENTED = (
    "data.name=imagefolder",
    "data.path=../data/pictures",
    "transform.train=[random_crop 16 2, flip, jitter 0.3 0.2 0.1, cutout 4]",
    "transform.eval=[resize 20, center_crop 16]",
)
CROPPED = (
    "data.name=imagefolder",
    "data.path=../data/pictures",
    "transform.train=[resized_crop 16 0.3, vflip, grey]",
    "transform.eval=[resize 16 16, grey]",
    "transform.mean=[0.5]",
    "transform.std=[0.25]",
)


def step_rows() -> list[Row]:
    """What changes a step: averaging, clipping, losses, precision, what ranks exchange."""
    return [
        variant("ema", "convnet", "ema.decay=0.9"),
        variant("ema", "convnet", "ema.decay=0.99", "ema.warmup=false", ranks=2, accumulate=3),
        variant("mixup", "simplecnn", "train.mixup=0.4"),
        variant("mixup", "simplecnn", "train.mixup=0.4", ranks=3, accumulate=3),
        variant("clip_norm", "mlp", "train.clip_norm=0.1", accumulate=3),
        variant("clip_norm", "gpt-nano", "train.clip_norm=0.5", ranks=2, precision="bf16"),
        variant("label_smoothing", "convnet", "loss.label_smoothing=0.1", ranks=2),
        variant("loss=mse", "mlp", "loss.name=mse"),
        variant("loss=nll", "mnistnet", "loss.name=nll", ranks=2),
        variant("batch_norm=false", "simplecnn", "model.batch_norm=false"),
        variant("channels_last=false", "simplecnn", "train.channels_last=false"),
        variant("freeze", "convnet", "model.freeze=[layer1.*]", ranks=2),
        variant("file", "scripted", "model.name=mlp", "model.file=../data/scripted.pt", *SCRIPTED),
        variant("double", "mlp", precision="fp64", ranks=2, accumulate=3),
        variant("pure", "convnet", precision="bf16-pure"),
        variant("loss scaler", "convnet", "train.device=auto", precision="fp16"),
        variant("loss scaler", "mlp", "train.device=auto", precision="fp16", ranks=2, accumulate=3),
        variant("sync_batchnorm", "convnet", "dist.sync_batchnorm=true", ranks=3),
        variant("compression=bf16", "mlp", "dist.compression=bf16", ranks=2),
        variant("buffers=step", "convnet", "dist.buffers=step", ranks=2),
        variant("bucket", "convnet", "dist.bucket=2000", ranks=2, accumulate=3),
        variant(
            "per_rank",
            "mlp",
            "dist.batch=per_rank",
            "dist.lr_scale=linear",
            "dist.lr_warmup=10",
            "loader.batch_size=3",
            ranks=3,
        ),
    ]


# tests/fixtures/nn/scripted.pt answers with three scores for grey images of 8x8.
SCRIPTED = (
    "data.image_size=8",
    "data.channels=1",
    "data.samples=200",
    "data.classes=[class0, class1, class2]",
)


def data_rows() -> list[Row]:
    """What changes the samples, their order, and what is recorded about them."""
    tokens = ("data.name=tokens", "data.path=../data/tokens")
    return [
        variant("augmented workers=0", "simplecnn", *AUGMENTED, "loader.workers=0"),
        variant("augmented workers=2", "simplecnn", *AUGMENTED, "loader.workers=2"),
        variant("augmented workers=2", "simplecnn", *AUGMENTED, "loader.workers=2", ranks=2),
        variant("cropped", "convnet", *CROPPED, "loader.workers=2", accumulate=3),
        variant("skipped files", "convnet", *CROPPED, *DAMAGED, ranks=2),
        variant("tokens", "gpt-nano", *tokens, "train.eval_every=2"),
        variant("tokens workers=2", "gpt-nano", *tokens, "loader.workers=2", ranks=2, accumulate=3),
        variant("jsonl", "gpt-nano", "data.path=../data/lines.jsonl"),
        variant("mix", "gpt-nano", "data.path=", MIX, ranks=2),
        variant("shuffle=false", "mlp", "loader.shuffle=false", "loader.drop_last=true"),
        variant("sample_ratio", "mlp", "data.sample_ratio=0.5", "data.stratify=false", "seed=7"),
        variant("early_stop", "mlp", "early_stop.patience=2", "early_stop.delta=10"),
        variant("watch", "convnet", "track.watch=all", "track.watch_every=10", ranks=2),
    ]


DAMAGED = ("data.path=../data/damaged", "data.on_error=skip")
MIX = "data.mix={../data/text.txt: 2, ../data/lines.jsonl: 1}"


def resumed_rows() -> list[Row]:
    """Begun by the old program in both cases: stopped after 25 steps, or killed after 27."""
    stop = ("train.max_steps=25",)
    rows = [
        variant("resumed", model, *values, begin=stop, ranks=ranks, accumulate=accumulate)
        for model, ranks, accumulate, values in (
            ("mlp", 1, 1, ("ema.decay=0.9", "schedule.name=cosine", "schedule.length=50")),
            ("convnet", 2, 3, ("optimizer.name=sgd", "optimizer.lr=0.05")),
            ("gpt-nano", 1, 3, ("train.clip_norm=1",)),
            ("simplecnn", 3, 1, ("optimizer.name=muon", "optimizer.lr=0.01")),
        )
    ]
    crash = ("train.simulate_crash=step 27",)
    for values, fields in (
        (("schedule.name=plateau", "schedule.patience=0"), {}),
        (("train.device=auto",), {"precision": "fp16"}),
        (("loader.workers=2", *AUGMENTED), {"precision": "bf16"}),
    ):
        rows.append(variant("killed", "convnet", *values, begin=crash, begin_code=-9, **fields))
    return rows


def all_rows(lists: dict[str, list[str]], is_quick: bool) -> list[Row]:
    return [
        *model_rows(lists["models"], is_quick),
        *plugin_rows(lists["optimizers"], lists["schedules"]),
        *step_rows(),
        *data_rows(),
        *resumed_rows(),
    ]


# ---- data ----------------------------------------------------------------------------------------


def png(side: int, chance: random.Random) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        crc = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", crc)

    rows = b"".join(b"\0" + chance.randbytes(3 * side) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", head),
            chunk(b"IDAT", zlib.compress(rows)),
            chunk(b"IEND", b""),
        ]
    )


def sentence(chance: random.Random) -> str:
    words = "the ship hauls its anchor ahead and drops it again in a calm".split()
    return " ".join(chance.choice(words) for _ in range(12)) + ".\n"


def write_pictures(folder: pathlib.Path, chance: random.Random) -> None:
    for label in ("bark", "brig", "ketch"):
        (folder / label).mkdir(parents=True)
        for i in range(20):
            (folder / label / f"{i:02}.png").write_bytes(png(18 + i % 5, chance))


def write_tokens(folder: pathlib.Path, chance: random.Random) -> None:
    folder.mkdir()
    for name, count in (("train", 1200), ("val", 300)):
        ids = [(7 * i + chance.randrange(5)) % 60 for i in range(count)]
        (folder / f"{name}.bin").write_bytes(struct.pack(f"<{count}H", *ids))
    (folder / "meta.json").write_text('{"vocab": 60}\n')


def write_data(folder: pathlib.Path) -> None:
    """The same bytes every time."""
    chance = random.Random(1)
    folder.mkdir()
    (folder / "text.txt").write_text("".join(sentence(chance) for _ in range(40)))
    lines = [f'{{"text": "{sentence(chance).strip()}"}}\n' for _ in range(30)]
    (folder / "lines.jsonl").write_text("".join(lines))
    write_tokens(folder / "tokens", chance)
    write_pictures(folder / "pictures", chance)
    shutil.copytree(folder / "pictures", folder / "damaged")
    for label in ("bark", "ketch"):
        (folder / "damaged" / label / "03.png").write_bytes(b"no picture")
    shutil.copy(FIXTURES / "nn/scripted.pt", folder / "scripted.pt")
