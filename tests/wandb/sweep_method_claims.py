"""Sweeps that learn and stop early, and what a killed server does to them."""

import contextlib
import subprocess
import sys
import textwrap
import time

from world import same, shows, wait_for


def wandb_cli(world, *words, seconds=240):
    done = subprocess.run(
        [sys.executable, "-m", "wandb", *words],
        capture_output=True,
        text=True,
        cwd=world.folder,
        env=world.clean_environment(WANDB_SILENT="false"),
        timeout=seconds,
    )
    same(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout + done.stderr


def make_sweep(world, name: str, program: str, text: str) -> str:
    (world.folder / f"{name}.py").write_text(textwrap.dedent(program))
    path = world.folder / f"{name}.yaml"
    path.write_text(
        f"program: {name}.py\nproject: {name}\n"
        f'command: ["{sys.executable}", "${{program}}", "${{args}}"]\n' + textwrap.dedent(text)
    )
    out = wandb_cli(world, "sweep", path.name)
    assert "with ID: " in out, out
    return out.split("with ID: ")[1].split()[0]


@shows("wandb sweep, method: bayes", "distributions q_uniform, int_uniform, categorical, constant")
def a_bayesian_sweep_comes_closer_to_the_best(world):
    import wandb

    config = {
        "method": "bayes",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {
            "x": {"distribution": "uniform", "min": -1.0, "max": 1.0},
            "q": {"distribution": "q_uniform", "min": 0.0, "max": 1.0, "q": 0.25},
            "n": {"distribution": "int_uniform", "min": 1, "max": 4},
            "kind": {"distribution": "categorical", "values": ["a", "b"]},
            "fixed": {"value": 7},
        },
    }
    seen = []

    def train():
        with wandb.init() as run:
            seen.append(dict(run.config))
            run.log({"loss": (run.config["x"] - 0.3) ** 2})

    id = wandb.sweep(config, project="bayes")
    wandb.agent(id, function=train, project="bayes", count=16)
    same(len(seen), 16)
    for values in seen:
        assert -1 <= values["x"] <= 1 and values["q"] * 4 == int(values["q"] * 4), values
        assert values["n"] in (1, 2, 3, 4) and values["kind"] in "ab", values
        same(values["fixed"], 7)
    late = sorted(abs(values["x"] - 0.3) for values in seen[8:])
    assert late[3] < 0.25, late  # chance alone: a quarter of the time for one, 1 in 10 for four
    best = world.api().sweep(f"bayes/{id}").best_run()
    same(best.summary["loss"], min((values["x"] - 0.3) ** 2 for values in seen))


# Of each: what it is given, and what its values must be.
DISTRIBUTIONS = {
    "uniform": ({"min": -1.0, "max": 1.0}, lambda x: -1 <= x <= 1),
    "q_uniform": ({"min": 0.0, "max": 2.0, "q": 0.5}, lambda x: x in (0, 0.5, 1, 1.5, 2)),
    "int_uniform": ({"min": 3, "max": 5}, lambda x: x in (3, 4, 5)),
    "log_uniform": ({"min": -2.0, "max": 0.0}, lambda x: 0.135 <= x <= 1),
    "q_log_uniform": ({"min": 0.0, "max": 3.0, "q": 2}, lambda x: x % 2 == 0 and 0 <= x <= 22),
    "log_uniform_values": ({"min": 1e-4, "max": 1e-2}, lambda x: 1e-4 <= x <= 1e-2),
    "q_log_uniform_values": ({"min": 8, "max": 64, "q": 8}, lambda x: x % 8 == 0 and 8 <= x <= 64),
    "inv_log_uniform": ({"min": 0.0, "max": 2.0}, lambda x: 0.135 <= x <= 1),
    "inv_log_uniform_values": ({"min": 0.5, "max": 0.99}, lambda x: 0.5 <= x <= 0.99),
    "normal": ({"mu": 100.0, "sigma": 1.0}, lambda x: 90 < x < 110),
    "q_normal": ({"mu": 100.0, "sigma": 5.0, "q": 10}, lambda x: x % 10 == 0 and 40 < x < 160),
    "log_normal": ({"mu": 0.0, "sigma": 0.5}, lambda x: 0 < x < 100),
    "q_log_normal": ({"mu": 2.0, "sigma": 0.5, "q": 1}, lambda x: x == int(x) and x >= 0),
    "beta": ({"a": 2, "b": 5}, lambda x: 0 <= x <= 1),
    "q_beta": ({"a": 2, "b": 2, "q": 0.25}, lambda x: x in (0, 0.25, 0.5, 0.75, 1)),
    "categorical": ({"values": ["a", "b"], "probabilities": [0.0, 1.0]}, lambda x: x == "b"),
    "constant": ({"value": {"deep": [1]}}, lambda x: x == {"deep": [1]}),
}


@shows("every distribution of a sweep file", "parameters within parameters")
def values_are_what_their_distribution_says(world):
    import wandb

    parameters = {
        name: {"distribution": name, **limits} for name, (limits, _) in DISTRIBUTIONS.items()
    }
    parameters["net"] = {"parameters": {"depth": {"min": 1, "max": 3}}}
    seen = []

    def train():
        with wandb.init() as run:
            seen.append(run.config.as_dict())

    id = wandb.sweep({"method": "random", "parameters": parameters}, project="spread")
    wandb.agent(id, function=train, project="spread", count=4)
    same(len(seen), 4)
    for values in seen:
        for name, (_, is_right) in DISTRIBUTIONS.items():
            assert is_right(values[name]), (name, values[name])
        assert values["net"]["depth"] in (1, 2, 3), values["net"]


@shows("wandb sweep, early_terminate: hyperband")
def hyperband_ends_the_worse_runs_early(world):
    id = make_sweep(
        world,
        "hyperband",
        """
        import time, wandb
        with wandb.init(settings=wandb.Settings(x_file_stream_transmit_interval=0.2)) as run:
            for epoch in range(100):
                run.log({"loss": run.config["start"] - epoch * 0.001})
                time.sleep(0.2)
        """,
        """
        method: grid
        metric: {name: loss, goal: minimize}
        parameters: {start: {values: [1.0, 2.0, 3.0, 4.0]}}
        early_terminate: {type: hyperband, min_iter: 4, eta: 2}
        """,
    )
    agents = [
        subprocess.Popen(
            [sys.executable, "-m", "wandb", "agent", "--count", "2", f"kedge/hyperband/{id}"],
            cwd=world.folder,
            env=world.clean_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    for agent in agents:
        agent.wait(240)
    runs = {run.config["start"]: run for run in world.api().sweep(f"hyperband/{id}").runs}
    same(sorted(runs), [1.0, 2.0, 3.0, 4.0])
    lengths = {start: run.lastHistoryStep + 1 for start, run in runs.items()}
    same(lengths[1.0], 100, "the best one")
    assert lengths[4.0] < 100, lengths


@shows("wandb sweep --cancel")
def cancelling_a_sweep_ends_its_runs(world):
    id = make_sweep(
        world,
        "cancelled",
        """
        import time, wandb
        with wandb.init(settings=wandb.Settings(x_file_stream_transmit_interval=0.2)) as run:
            for i in range(2000):
                run.log({"loss": i})
                time.sleep(0.1)
        """,
        """
        method: random
        metric: {name: loss, goal: minimize}
        parameters: {x: {min: 0.0, max: 1.0}}
        """,
    )
    agent = subprocess.Popen(
        [sys.executable, "-m", "wandb", "agent", f"kedge/cancelled/{id}"],
        cwd=world.folder,
        env=world.clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def steps():
        with contextlib.suppress(Exception):
            return world.api().sweep(f"cancelled/{id}").runs[0].lastHistoryStep
        return 0

    try:
        wait_for(lambda: steps() > 2, 120)
        wandb_cli(world, "sweep", "--cancel", f"kedge/cancelled/{id}")
        same(world.api().sweep(f"cancelled/{id}").state, "CANCELED")
        out = agent.communicate(timeout=120)[0]
        assert steps() < 1999, out
    finally:
        agent.kill()


@shows("the server killed and started again during a sweep")
def a_sweep_goes_on_when_the_server_is_killed(world):
    id = make_sweep(
        world,
        "killsweep",
        """
        import time, wandb
        with wandb.init() as run:
            for i in range(15):
                run.log({"loss": run.config["x"] + i})
                time.sleep(0.1)
        """,
        """
        method: grid
        metric: {name: loss, goal: minimize}
        parameters: {x: {values: [1, 2, 3, 4]}}
        """,
    )
    agent = subprocess.Popen(
        [sys.executable, "-m", "wandb", "agent", f"kedge/killsweep/{id}"],
        cwd=world.folder,
        env=world.clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    # Not between a trial's hand-out and the agent's hearing of it: that trial stays pending.
    def begun_count():
        with contextlib.suppress(Exception):
            runs = world.api().sweep(f"killsweep/{id}").runs
            return sum(run.state != "pending" for run in runs)
        return 0

    for wanted in (1, 2, 3):
        wait_for(lambda: begun_count() >= wanted, 120)
        world.server.kill()
        time.sleep(1)
        world.server.start()
    out = agent.communicate(timeout=240)[0]
    same(agent.returncode, 0, out)
    runs = list(world.api().sweep(f"killsweep/{id}").runs)
    same(sorted(run.config["x"] for run in runs), [1, 2, 3, 4], out)
    same([run.state for run in runs], ["finished"] * 4, out)
    for run in runs:
        rows = [row["loss"] for row in run.scan_history(keys=["loss"])]
        same(rows, [run.config["x"] + i for i in range(15)])
