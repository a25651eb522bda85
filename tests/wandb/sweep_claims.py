"""Sweeps: handed out to functions and programs."""

import subprocess
import sys
import textwrap

from world import same, shows


@shows("wandb.sweep", "wandb.agent(function, count=)", "Api.sweep", "Sweep.best_run", "Sweep.runs")
def a_sweep_hands_out_its_points_to_a_function(world):
    import wandb

    seen = []

    def train():
        with wandb.init() as run:
            seen.append((run.config["a"], run.config["b"]))
            run.log({"loss": run.config["a"] * 10 + run.config["b"]})

    config = {
        "method": "grid",
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"a": {"values": [1, 2]}, "b": {"values": [0, 5]}},
    }
    id = wandb.sweep(config, project="sweeps")
    wandb.agent(id, function=train, project="sweeps", count=4)
    same(sorted(seen), [(1, 0), (1, 5), (2, 0), (2, 5)])
    sweep = world.api().sweep(f"sweeps/{id}")
    same(len(sweep.runs), 4)
    best = sweep.best_run()
    same((best.config["a"], best.config["b"]), (1, 0))
    same(sweep.expected_run_count, 4)
    shown_like_our_own(world, id)


def shown_like_our_own(world, id):
    """The page and `kedge sweep` read a sweep of wandb's as they read their own."""
    listed = world.server.get("/api/v1/sweeps?project=sweeps")["sweeps"]
    (one,) = [sweep for sweep in listed if sweep["id"] == id]
    same((one["origin"], one["state"], one["trials"], one["best"]), ("wandb", "finished", 4, 10))
    trials = world.server.get(f"/api/v1/sweeps/sweeps/{id}/trials")["trials"]
    for trial in trials:
        assert trial["result"]["ended"] >= one["created"], trial  # else no curve over time
    done = subprocess.run(
        [world.server.binary, "sweep", "best", id, "--server", world.server.url],
        capture_output=True,
        text=True,
        timeout=60,
    )
    same((done.returncode, done.stdout), (0, "a: 1\nb: 0\n"), done.stderr)


@shows("wandb sweep", "wandb agent --count", "wandb sweep --pause, --resume, --stop")
def a_sweep_runs_a_program_from_the_command_line(world):
    program = world.folder / "trial.py"
    program.write_text(textwrap.dedent("""
            import argparse, wandb
            parser = argparse.ArgumentParser()
            parser.add_argument("--lr", type=float)
            lr = parser.parse_args().lr
            with wandb.init() as run:
                assert run.config["lr"] == lr
                run.log({"loss": lr})
            """))
    (world.folder / "sweep.yaml").write_text(textwrap.dedent(f"""
            program: trial.py
            method: random
            project: cli
            metric: {{name: loss, goal: minimize}}
            parameters:
              lr: {{min: 0.001, max: 0.1, distribution: log_uniform_values}}
            command: ["{sys.executable}", "${{program}}", "${{args}}"]
            """))

    def wandb_cli(*words):
        done = subprocess.run(
            [sys.executable, "-m", "wandb", *words],
            capture_output=True,
            text=True,
            cwd=world.folder,
            env=world.clean_environment(WANDB_SILENT="false"),
            timeout=120,
        )
        same(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    out = wandb_cli("sweep", "sweep.yaml")
    id = out.split("Creating sweep with ID: ")[1].split()[0] if "with ID: " in out else ""
    assert id, out
    wandb_cli("agent", "--count", "2", f"kedge/cli/{id}")
    sweep = world.api().sweep(f"cli/{id}")
    same([run.state for run in sweep.runs], ["finished", "finished"])
    for run in sweep.runs:
        assert 0.001 <= run.config["lr"] <= 0.1
    for option, state in [("--pause", "PAUSED"), ("--resume", "RUNNING"), ("--stop", "FINISHED")]:
        wandb_cli("sweep", option, f"kedge/cli/{id}")
        same(world.api().sweep(f"cli/{id}").state, state)
