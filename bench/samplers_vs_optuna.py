"""How good and how fast are the samplers, beside Optuna's?

Regret: BBOB functions (PyPI ioh) in 5 dimensions, 100 trials, the median over seeds of the best
value found minus the optimum. Time: one proposal after 1,000 trials with 9 parameters.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
import warnings

FUNCTIONS = {
    1: "sphere",
    2: "ellipsoid",
    3: "Rastrigin",
    6: "attractive sector",
    8: "Rosenbrock",
    15: "Rastrigin, rotated",
    20: "Schwefel",
    21: "Gallagher",
}


class Kedge:
    def __init__(self, binary: str, method: str):
        self.method = method
        self.process = subprocess.Popen(
            [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def send(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def call(self, line: str) -> dict:
        self.send(line)
        return json.loads(self.process.stdout.readline())

    def plan(self, parameters: dict, seed: int, more: dict | None = None) -> None:
        plan = {
            "method": self.method,
            "seed": seed,
            "metric": {"name": "loss"},
            "parameters": parameters,
        }
        self.send("plan " + json.dumps(plan | (more or {})))

    def ask(self) -> tuple[dict, float]:
        answer = self.call("ask")
        return answer["values"][0], answer["seconds"]

    def tell(self, value: float) -> None:
        self.send(f"tell {value!r}")


def minimize_kedge(kedge: Kedge, function, dimension: int, trials: int, seed: int) -> float:
    names = [f"x{i}" for i in range(dimension)]
    parameters = {name: {"min": -5.0, "max": 5.0} for name in names}
    kedge.plan(parameters, seed, {"run_cap": trials})
    best = float("inf")
    for _ in range(trials):
        values, _ = kedge.ask()
        loss = function([values[name] for name in names])
        kedge.tell(loss)
        best = min(best, loss)
    return best


def optuna_sampler(name: str, seed: int):
    import optuna

    return {
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
        "tpe-multivariate": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True),
        "gp": lambda: optuna.samplers.GPSampler(seed=seed, deterministic_objective=True),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
        "cmaes": lambda: optuna.samplers.CmaEsSampler(seed=seed),
    }[name]()


def minimize_optuna(name: str, function, dimension: int, trials: int, seed: int) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna_sampler(name, seed))
    study.optimize(
        lambda trial: function([trial.suggest_float(f"x{i}", -5, 5) for i in range(dimension)]),
        n_trials=trials,
    )
    return study.best_value


class Ledger:
    """Regrets that were measured before, one line of JSON each: long runs go on where they were."""

    def __init__(self, path: str | None):
        self.path = path
        self.known = {}
        if path and os.path.exists(path):
            for line in open(path):
                entry = json.loads(line)
                self.known[entry["function"], entry["who"], entry["seed"]] = entry["regret"]

    def find(self, function: int, who: str, seed: int) -> float | None:
        return self.known.get((function, who, seed))

    def add(self, function: int, who: str, seed: int, regret: float) -> None:
        entry = {"function": function, "who": who, "seed": seed, "regret": regret}
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps(entry) + "\n")


def measure_one(who: str, kedge: Kedge | None, number: int, seed: int, options) -> float:
    import ioh

    problem = ioh.get_problem(
        number,
        instance=seed + 1,
        dimension=options.dimension,
        problem_class=ioh.ProblemClass.BBOB,
    )
    if kedge:
        found = minimize_kedge(kedge, problem, options.dimension, options.trials, seed)
    else:
        name = who.split(":")[1]
        found = minimize_optuna(name, problem, options.dimension, options.trials, seed)
    return found - problem.optimum.y


def measure_regret(options) -> None:
    ledger = Ledger(options.ledger)
    for number in options.functions:
        for who in options.who:
            side, name = who.split(":")
            kedge = Kedge(options.binary, name) if side == "kedge" else None
            regrets = []
            started = time.time()
            for seed in range(options.seeds):
                regret = ledger.find(number, who, seed)
                if regret is None:
                    regret = measure_one(who, kedge, number, seed, options)
                    ledger.add(number, who, seed, regret)
                regrets.append(regret)
            print(
                f"f{number:<3}{FUNCTIONS.get(number, ''):20} {who:24}"
                f" {statistics.median(regrets):12.5g}"
                f"   {(time.time() - started) / options.seeds:6.2f} s a seed",
                flush=True,
            )


def measure_time(options) -> None:
    parameters = {f"x{i}": {"min": 0.0, "max": 1.0} for i in range(6)}
    parameters |= {"n": {"min": 1, "max": 100}, "a": {"values": ["p", "q", "r"]}}
    parameters["lr"] = {"distribution": "log_uniform_values", "min": 1e-5, "max": 1}
    for method in ["random", "sobol", "tpe", "cmaes", "bayes"]:
        kedge = Kedge(options.binary, "random")
        kedge.plan(parameters, 1)
        for _ in range(1000):
            values, _ = kedge.ask()
            kedge.tell(sum((values[f"x{i}"] - 0.3) ** 2 for i in range(6)))
        kedge.send("method " + method)
        times = [kedge.ask()[1] for _ in range(10)]
        print(f"kedge:{method:20} {statistics.median(times) * 1e3:9.2f} ms a proposal")
    for name in ["tpe", "tpe-multivariate"]:
        print(f"optuna:{name:20} {time_optuna(name) * 1e3:9.2f} ms a proposal")


def time_optuna(name: str) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

    def suggest(trial) -> float:
        xs = [trial.suggest_float(f"x{i}", 0, 1) for i in range(6)]
        trial.suggest_int("n", 1, 100)
        trial.suggest_categorical("a", ["p", "q", "r"])
        trial.suggest_float("lr", 1e-5, 1, log=True)
        return sum((x - 0.3) ** 2 for x in xs)

    study.optimize(suggest, n_trials=1000)
    study.sampler = optuna_sampler(name, 1)
    times = []
    for _ in range(10):
        started = time.perf_counter()
        trial = study.ask()
        suggest(trial)
        times.append(time.perf_counter() - started)
        study.tell(trial, 1.0)
    return statistics.median(times)


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="build/bin/bench_propose")
    parser.add_argument("--functions", type=int, nargs="+", default=list(FUNCTIONS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--dimension", type=int, default=5)
    parser.add_argument(
        "--who",
        nargs="+",
        default=["kedge:bayes", "kedge:tpe", "kedge:cmaes", "kedge:random"]
        + ["optuna:gp", "optuna:tpe", "optuna:tpe-multivariate", "optuna:cmaes", "optuna:random"],
    )
    parser.add_argument("--ledger", help="a file of regrets; what is in it is not measured again")
    parser.add_argument("--time", action="store_true", help="only the time of a proposal")
    options = parser.parse_args()
    if options.time:
        measure_time(options)
    else:
        measure_regret(options)


if __name__ == "__main__":
    main()
