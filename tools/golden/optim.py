"""Writes tests/fixtures/train/*.json: what PyTorch 2.11 (lion-pytorch 0.2.5 for Lion, timm 1.0.31
for LAMB, torch_ema 0.3 for the warm-up of averages) computes for optimizers, schedules, clipping,
loss scaling and weight averages.

Usage: python tools/golden/optim.py   (needs torch==2.11.*, lion-pytorch==0.2.5, timm==1.0.31,
torch_ema==0.3; runs on the CPU)

Parameters and gradients follow formulas that the C++ tests repeat, so only results are stored.
"""

import json
import math
import pathlib
import warnings

import torch
from lion_pytorch import Lion
from timm.optim.lamb import Lamb
from torch.optim import lr_scheduler, swa_utils
from torch_ema import ExponentialMovingAverage
from values import gradient, initial

FIXTURES = pathlib.Path(__file__).parents[2] / "tests" / "fixtures" / "train"
SHAPES = {"fc.weight": (4, 6), "fc.bias": (6,), "conv.weight": (3, 2, 3, 3), "scale": ()}
STEPS = 20
KEPT_STEPS = (1, 10, 20)
POINTS = 60


def rounded(tensor):
    return [float(f"{value:.9g}") for value in tensor.detach().flatten().tolist()]


def run_optimizer(make, flatten=False):
    """20 steps; `make` gets {name: parameter} and returns a list of optimizers."""
    parameters = {}
    for index, (name, shape) in enumerate(SHAPES.items()):
        value = initial(index, shape)
        parameters[name] = torch.nn.Parameter(
            value.flatten(1) if flatten and value.dim() > 2 else value
        )
    optimizers = make(parameters)
    kept = {}
    for step in range(1, STEPS + 1):
        for index, (name, shape) in enumerate(SHAPES.items()):
            parameters[name].grad = gradient(index, shape, step).reshape(parameters[name].shape)
        for optimizer in optimizers:
            optimizer.step()
        if step in KEPT_STEPS:
            kept[str(step)] = {name: rounded(p) for name, p in parameters.items()}
    return kept


def one(kind, **options):
    return lambda parameters: [kind(list(parameters.values()), **options)]


def muon(lr, weight_decay, momentum):
    def make(parameters):
        matrices = [p for p in parameters.values() if p.dim() == 2]
        others = [p for p in parameters.values() if p.dim() < 2]
        return [
            torch.optim.Muon(
                matrices,
                lr=lr,
                weight_decay=weight_decay,
                momentum=momentum,
                nesterov=True,
                adjust_lr_fn="match_rms_adamw",
            ),
            torch.optim.AdamW(others, lr=lr, weight_decay=weight_decay),
        ]

    return make


def optimizer_cases():
    """(optimizer, kedge options, runner)"""
    o = torch.optim
    zero = {"momentum": 0.0}
    yield "sgd", {"lr": 0.05, **zero}, one(o.SGD, lr=0.05)
    yield "sgd", {"lr": 0.05, **zero, "weight_decay": 0.01}, one(o.SGD, lr=0.05, weight_decay=0.01)
    yield "sgd", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}, one(
        o.SGD, lr=0.05, momentum=0.9, weight_decay=0.01
    )
    yield "sgd", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, one(
        o.SGD, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01
    )
    for name, kind in (("adam", o.Adam), ("adamw", o.AdamW)):
        yield name, {"lr": 0.01}, one(kind, lr=0.01, weight_decay=0)
        yield name, {
            "lr": 0.01,
            "weight_decay": 0.1,
            "beta1": 0.8,
            "beta2": 0.95,
            "eps": 1e-6,
        }, one(kind, lr=0.01, weight_decay=0.1, betas=(0.8, 0.95), eps=1e-6)
    yield "rmsprop", {"lr": 0.01, **zero}, one(o.RMSprop, lr=0.01)
    yield "rmsprop", {"lr": 0.01, "momentum": 0.9, "alpha": 0.95, "weight_decay": 0.05}, one(
        o.RMSprop, lr=0.01, momentum=0.9, alpha=0.95, weight_decay=0.05
    )
    yield "adagrad", {"lr": 0.05, "eps": 1e-10}, one(o.Adagrad, lr=0.05, eps=1e-10)
    yield "adagrad", {"lr": 0.05, "weight_decay": 0.05}, one(
        o.Adagrad, lr=0.05, weight_decay=0.05, eps=1e-8
    )
    yield "adafactor", {"lr": 0.05}, one(o.Adafactor, lr=0.05)
    yield "adafactor", {"lr": 0.3, "weight_decay": 0.05}, one(
        o.Adafactor, lr=0.3, weight_decay=0.05
    )
    yield "lion", {"lr": 0.01, "beta2": 0.99}, one(Lion, lr=0.01, betas=(0.9, 0.99))
    yield "lion", {"lr": 0.01, "beta1": 0.95, "beta2": 0.98, "weight_decay": 0.1}, one(
        Lion, lr=0.01, betas=(0.95, 0.98), weight_decay=0.1
    )
    lamb = {"max_grad_norm": None, "always_adapt": True}
    yield "lamb", {"lr": 0.01, "eps": 1e-6}, one(Lamb, lr=0.01, weight_decay=0, **lamb)
    yield "lamb", {
        "lr": 0.02,
        "beta1": 0.8,
        "beta2": 0.95,
        "eps": 1e-6,
        "weight_decay": 0.1,
    }, one(Lamb, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1, **lamb)
    # Newton-Schulz runs in bfloat16, whose last bit depends on the machine's matrix units; the
    # small rate keeps 20 steps of such differences (2^-9 * lr each) below the tolerance.
    yield "muon", {"lr": 2e-4, "momentum": 0.95, "weight_decay": 0.1}, muon(2e-4, 0.1, 0.95)


def optimizers():
    cases = []
    for name, options, make in optimizer_cases():
        cases.append(
            {
                "name": name,
                "options": options,
                "parameters": run_optimizer(make, flatten=name == "muon"),
            }
        )
    return cases


def curve(make, peak, steps=POINTS, metrics=None):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=peak)
    scheduler = make(optimizer)
    rates = []
    for step in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if metrics is None:
            scheduler.step()
        else:
            scheduler.step(metrics[step])
    return rates


def warmed(make, warmup, start):
    def sequence(optimizer):
        first = lr_scheduler.LinearLR(
            optimizer, start_factor=start, end_factor=1, total_iters=warmup
        )
        return lr_scheduler.SequentialLR(optimizer, [first, make(optimizer)], milestones=[warmup])

    return sequence


def plateau_metrics():
    """Falls, stalls within the threshold, jumps, falls again."""
    return [
        1.0 / (1 + min(i, 8)) + (1e-6 if i > 20 else 0) - (0.02 if i > 40 else 0)
        for i in range(POINTS)
    ]


def schedules():
    s = lr_scheduler
    peak = 0.4
    makers = [
        ("none", {}, lambda o: s.LambdaLR(o, lambda t: 1.0)),
        ("step", {"step_size": 7, "gamma": 0.5}, lambda o: s.StepLR(o, 7, 0.5)),
        (
            "multi_step",
            {"milestones": [5, 20, 33], "gamma": 0.3},
            lambda o: s.MultiStepLR(o, [5, 20, 33], 0.3),
        ),
        ("exponential", {"gamma": 0.95}, lambda o: s.ExponentialLR(o, 0.95)),
    ]
    cases = []
    for warmup, start in ((0, 0.0), (10, 0.1)):
        rest = POINTS - warmup
        ended = [
            ("cosine", {}, lambda o: s.CosineAnnealingLR(o, rest)),
            ("cosine", {"floor": 0.05}, lambda o: s.CosineAnnealingLR(o, rest, 0.05 * peak)),
            ("linear", {}, lambda o: s.LinearLR(o, 1.0, 0.0, rest)),
            ("linear", {"floor": 0.1, "length": 30}, lambda o: s.LinearLR(o, 1.0, 0.1, 30)),
            (
                "inverse_sqrt",
                {},
                lambda o: s.LambdaLR(
                    o, lambda t: math.sqrt(max(1, warmup) / (max(1, warmup) + t))
                ),
            ),
        ]
        for name, options, make in makers + ended:
            made = warmed(make, warmup, start) if warmup else make
            cases.append(
                {
                    "name": name,
                    "peak": peak,
                    "options": {**options, "warmup": warmup, "warmup_start": start},
                    "rates": curve(made, peak),
                }
            )
    for options in ({}, {"pct_start": 0.4, "div_factor": 10.0, "final_div_factor": 100.0}):
        cases.append(
            {
                "name": "one_cycle",
                "peak": peak,
                "options": options,
                "rates": curve(
                    lambda o: s.OneCycleLR(
                        o, peak, total_steps=POINTS, cycle_momentum=False, **options
                    ),
                    peak,
                ),
            }
        )
    for more_is_better in (False, True):
        metrics = [(-m + 2 if more_is_better else m) for m in plateau_metrics()]
        cases.append(
            {
                "name": "plateau",
                "peak": peak,
                "metrics": metrics,
                "more_is_better": more_is_better,
                "options": {"gamma": 0.5, "patience": 4, "floor": 0.1},
                "rates": curve(
                    lambda o: s.ReduceLROnPlateau(
                        o, "max" if more_is_better else "min", 0.5, 4, min_lr=0.1 * peak
                    ),
                    peak,
                    metrics=metrics,
                ),
            }
        )
    return cases


def clipping():
    cases = []
    for max_norm in (0.5, 3.0, 100.0):
        parameters = []
        for index, shape in enumerate(SHAPES.values()):
            parameter = torch.nn.Parameter(initial(index, shape))
            parameter.grad = gradient(index, shape, 1)
            parameters.append(parameter)
        norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        cases.append(
            {
                "max_norm": max_norm,
                "norm": rounded(norm)[0],
                "gradients": {n: rounded(p.grad) for n, p in zip(SHAPES, parameters)},
            }
        )
    return cases


def loss_scaling():
    """SGD on one parameter with infinite gradients at steps 3, 4 and 11, growth interval 3."""
    parameter = torch.nn.Parameter(initial(0, (4, 6)))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", growth_interval=3)
    scales = []
    for step in range(1, 16):
        scaler.scale(torch.zeros(1))
        parameter.grad = gradient(0, (4, 6), step) * scaler.get_scale()
        if step in (3, 4, 11):
            parameter.grad[1, 2] = math.inf
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return {"scales": scales, "parameter": rounded(parameter)}


def averaged_layer():
    model = torch.nn.Linear(6, 4)
    with torch.no_grad():
        model.weight.copy_(initial(0, (4, 6)))
        model.bias.copy_(initial(1, (4,)))
    return model


def train_averaged_layer(model, update):
    """SGD steps on a linear layer, averaged after each."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, STEPS + 1):
        model.weight.grad = gradient(0, (4, 6), step)
        model.bias.grad = gradient(1, (4,), step)
        optimizer.step()
        update()


def averaging():
    """With decay 0.9."""
    model = averaged_layer()
    average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))
    average.update_parameters(model)  # its first call copies
    train_averaged_layer(model, lambda: average.update_parameters(model))
    return {"weight": rounded(average.module.weight), "bias": rounded(average.module.bias)}


def averaging_warmup():
    """With decay 0.9, and a smaller one at first."""
    model = averaged_layer()
    average = ExponentialMovingAverage(model.parameters(), decay=0.9, use_num_updates=True)
    train_averaged_layer(model, average.update)
    return {
        "weight": rounded(average.shadow_params[0]),
        "bias": rounded(average.shadow_params[1]),
    }


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    FIXTURES.mkdir(parents=True, exist_ok=True)
    for name, make in (
        ("optimizers", optimizers),
        ("schedules", schedules),
        ("clipping", clipping),
        ("loss_scaling", loss_scaling),
        ("averaging", averaging),
        ("averaging_warmup", averaging_warmup),
    ):
        content = {"torch": torch.__version__.split("+")[0], "cases": make()}
        (FIXTURES / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
