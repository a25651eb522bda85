"""Computes the tables of real trainings that the samplers are compared on.

Every point of a grid is trained once; a table has a row per point: the parameters, then the
validation error after each report (one for models that are fitted at once). Sizes are small, so
that a table takes minutes on one core: nice -n 19 python make_tables.py DATA FOLDER, where DATA
holds mnist/ and fashion-mnist/ as `kedge data get` makes them.
"""

import argparse
import csv
import gzip
import itertools
import pathlib
import time

import numpy
import torch
from sklearn import datasets, ensemble, model_selection, svm

EPOCHS = 9


def read_idx(path: pathlib.Path) -> numpy.ndarray:
    if not path.exists():
        path = path.with_name(path.name + ".gz")
    raw = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    dims = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(dims)]
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * dims).reshape(shape)


def read_images(folder: pathlib.Path, train: int, val: int):
    def part(prefix: str, count: int):
        images = read_idx(next(folder.rglob(f"{prefix}-images*")).with_suffix(""))
        labels = read_idx(next(folder.rglob(f"{prefix}-labels*")).with_suffix(""))
        x = torch.tensor(images[:count] / 255.0, dtype=torch.float32)
        return (x - 0.3) / 0.35, torch.tensor(labels[:count], dtype=torch.int64)

    return part("train", train), part("t10k", val)


def errors_of(model: torch.nn.Module, train, val, optimizer, batch: int) -> list[float]:
    torch.manual_seed(1)
    errors = []
    for _ in range(EPOCHS):
        model.train()
        for index in torch.randperm(len(train[0])).split(batch):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(train[0][index]), train[1][index])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            wrong = model(val[0]).argmax(1) != val[1]
        errors.append(float(wrong.float().mean()))
    return errors


def fashion_mlp(data: pathlib.Path):
    train, val = read_images(data / "fashion-mnist", 2000, 2000)
    train, val = ((x.flatten(1), y) for x, y in (train, val))
    grid = {
        "lr": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2],
        "width": [16, 64, 256],
        "batch": [32, 128, 512],
        "dropout": [0.0, 0.5],
    }

    def measure(lr, width, batch, dropout):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(784, width),
            torch.nn.ReLU(),
            torch.nn.Dropout(dropout),
            torch.nn.Linear(width, 10),
        )
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        return errors_of(model, train, val, optimizer, batch)

    return grid, measure


def mnist_cnn(data: pathlib.Path):
    train, val = read_images(data / "mnist", 1500, 2000)
    train, val = ((x.unsqueeze(1), y) for x, y in (train, val))
    grid = {
        "lr": [1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3],
        "momentum": [0.0, 0.7, 0.95],
        "batch": [64, 256],
        "channels": [4, 8],
    }

    def measure(lr, momentum, batch, channels):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, channels, 5, stride=2),
            torch.nn.ReLU(),
            torch.nn.Conv2d(channels, 2 * channels, 3, stride=2),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(2 * channels * 25, 10),
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
        return errors_of(model, train, val, optimizer, batch)

    return grid, measure


def cross_validated(model, x, y) -> list[float]:
    folds = model_selection.StratifiedKFold(3, shuffle=True, random_state=0)
    return [1 - float(model_selection.cross_val_score(model, x, y, cv=folds).mean())]


def digits_svm(data: pathlib.Path):
    x, y = datasets.load_digits(return_X_y=True)
    grid = {
        "c": [float(c) for c in numpy.logspace(-2, 4, 13)],
        "gamma": [float(g) for g in numpy.logspace(-6, 0, 13)],
        "kernel": ["rbf", "sigmoid"],
    }

    def measure(c, gamma, kernel):
        return cross_validated(svm.SVC(C=c, gamma=gamma, kernel=kernel), x[:900], y[:900])

    return grid, measure


def cancer_boosting(data: pathlib.Path):
    x, y = datasets.load_breast_cancer(return_X_y=True)
    grid = {
        "learning_rate": [0.01, 0.03, 0.1, 0.3, 1.0],
        "max_depth": [1, 2, 3, 5],
        "n_estimators": [10, 30, 100],
        "subsample": [0.3, 0.6, 1.0],
        "max_features": [2, 8, 30],
    }

    def measure(**values):
        model = ensemble.GradientBoostingClassifier(random_state=0, **values)
        return cross_validated(model, x, y)

    return grid, measure


TABLES = {
    "digits_svm": digits_svm,
    "cancer_boosting": cancer_boosting,
    "mnist_cnn": mnist_cnn,
    "fashion_mlp": fashion_mlp,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.tables:
        grid, measure = TABLES[name](options.data)
        started = time.time()
        with open(options.folder / f"{name}.csv.part", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            header = None
            for point in itertools.product(*grid.values()):
                errors = measure(**dict(zip(grid, point)))
                if header is None:
                    header = [*grid, *(f"error_{i + 1}" for i in range(len(errors)))]
                    writer.writerow(header)
                writer.writerow(
                    [*(f"{v:g}" if isinstance(v, float) else v for v in point)]
                    + [f"{error:.5g}" for error in errors]
                )
                file.flush()
        (options.folder / f"{name}.csv.part").rename(options.folder / f"{name}.csv")
        print(f"{name}: {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
