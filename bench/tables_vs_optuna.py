"""Samplers and early termination on tables of real trainings (bench/tables, make_tables.py).

Regret: the best validation error found minus the best in the table, the median over seeds, beside
Optuna's samplers. --asha: ASHA against random search with the same number of epochs.
"""

import argparse
import csv
import pathlib
import statistics
import warnings

from samplers_vs_optuna import Kedge, optuna_sampler

TABLES = pathlib.Path(__file__).with_name("tables")


class Table:
    """Every point of a grid with its errors; parameters are whole numbers, or names."""

    def __init__(self, path: pathlib.Path):
        rows = list(csv.DictReader(open(path)))
        self.keys = [key for key in rows[0] if not key.startswith("error_")]
        self.axes = {key: list(dict.fromkeys(row[key] for row in rows)) for key in self.keys}
        reports = [key for key in rows[0] if key.startswith("error_")]
        self.curves = {
            tuple(row[key] for key in self.keys): [float(row[name]) for name in reports]
            for row in rows
        }
        self.best = min(curve[-1] for curve in self.curves.values())

    def is_named(self, key: str) -> bool:
        return not self.axes[key][0].replace(".", "").replace("e-", "").isdigit()

    def parameters(self) -> dict:
        return {
            key: {"values": values} if self.is_named(key) else {"min": 0, "max": len(values) - 1}
            for key, values in self.axes.items()
        }

    def curve(self, values: dict) -> list[float]:
        point = (v if self.is_named(k) else self.axes[k][v] for k, v in values.items())
        return self.curves[tuple(point)]


def search_kedge(binary: str, method: str, table: Table, trials: int, seed: int) -> float:
    kedge = Kedge(binary, method)
    kedge.plan(table.parameters(), seed)
    best = float("inf")
    for _ in range(trials):
        values, _ = kedge.ask()
        loss = table.curve({key: values[key] for key in table.keys})[-1]
        kedge.tell(loss)
        best = min(best, loss)
    kedge.process.stdin.close()
    kedge.process.wait()
    return best


def search_optuna(name: str, table: Table, trials: int, seed: int) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial) -> float:
        values = {
            key: (
                trial.suggest_categorical(key, values)
                if table.is_named(key)
                else trial.suggest_int(key, 0, len(values) - 1)
            )
            for key, values in table.axes.items()
        }
        return table.curve(values)[-1]

    study = optuna.create_study(sampler=optuna_sampler(name, seed))
    study.optimize(objective, n_trials=trials)
    return study.best_value


def search_with_asha(binary: str, table: Table, epochs: int, seed: int) -> tuple[float, int]:
    """One agent; a trial that is promoted goes on where it was. Returns the best error at the last
    epoch, and how many trials were begun."""
    kedge = Kedge(binary, "random")
    plan = {"early_terminate": {"type": "asha", "min_iter": 1, "eta": 3}}
    kedge.plan(table.parameters(), seed, plan)
    curves, done = {}, {}
    best, spent = float("inf"), 0
    while spent < epochs:
        number = kedge.call("promote")["trial"]
        if number is None:
            answer = kedge.call("ask")
            if not answer["values"]:
                break
            values = answer["values"][0]
            number = len(curves) + 1
            curves[number] = table.curve({key: values[key] for key in table.keys})
            done[number] = 0
        while spent < epochs:
            value = curves[number][done[number]]
            done[number] += 1
            spent += 1
            held = kedge.call(f"report {number} {value!r}")["verdict"] == "hold"
            if done[number] == len(curves[number]):
                kedge.send(f"end {number}")
                best = min(best, value)
                break
            if held:
                break
    kedge.process.stdin.close()
    kedge.process.wait()
    return best, len(curves)


def compare_asha(options, name: str, table: Table) -> None:
    reports = len(next(iter(table.curves.values())))
    if reports == 1:
        return
    epochs = options.trials * reports
    asha, random, begun = [], [], []
    for seed in range(options.seeds):
        found, count = search_with_asha(options.binary, table, epochs, seed)
        asha.append(found - table.best)
        begun.append(count)
        random.append(
            search_kedge(options.binary, "random", table, options.trials, seed) - table.best
        )
    print(
        f"{name:18} {epochs} epochs: ASHA {statistics.median(asha):.5f} with"
        f" {statistics.median(begun):.0f} trials, random {statistics.median(random):.5f} with"
        f" {options.trials}",
        flush=True,
    )


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="build/bin/bench_propose")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--asha", action="store_true")
    parser.add_argument(
        "--who",
        nargs="+",
        default=["kedge:bayes", "kedge:tpe", "kedge:random"]
        + ["optuna:gp", "optuna:tpe", "optuna:random"],
    )
    options = parser.parse_args()
    for path in sorted(TABLES.glob("*.csv")):
        table = Table(path)
        if options.asha:
            compare_asha(options, path.stem, table)
            continue
        for who in options.who:
            side, name = who.split(":")
            regrets = []
            for seed in range(options.seeds):
                found = (
                    search_kedge(options.binary, name, table, options.trials, seed)
                    if side == "kedge"
                    else search_optuna(name, table, options.trials, seed)
                )
                regrets.append(found - table.best)
            print(f"{path.stem:18} {who:20} {statistics.median(regrets):.5f}", flush=True)


if __name__ == "__main__":
    main()
