"""A wandb script that ends up with a run, an artifact, a linked model and a sweep.

All that the client prints goes to stdout, then the addresses that its objects give.
"""

import wandb

PROJECT = "addresses"

with wandb.init(project=PROJECT, name="printed run", group="a pair") as run:
    run.log({"loss": 1.0})
    made = wandb.Artifact("weights", type="checkpoint")
    with made.new_file("w.txt") as file:
        file.write("1")
    run.log_artifact(made).wait()
    linked = run.link_artifact(made, f"{PROJECT}/best weights")
    print("linked Artifact.url", linked.url)
sweep = wandb.sweep(
    {"name": "printed sweep", "method": "random", "parameters": {"lr": {"values": [1, 2]}}},
    project=PROJECT,
)


def trial():
    with wandb.init(name="printed trial") as run:
        run.log({"loss": 2.0})


wandb.agent(sweep, trial, project=PROJECT, count=1)
api = wandb.Api()
path = f"{run.entity}/{PROJECT}"
print("Run.url", api.run(f"{path}/{run.id}").url)
print("Project.url", api.project(PROJECT, run.entity).url)
print("Sweep.url", api.sweep(f"{path}/{sweep}").url)
print("Artifact.url", api.artifact(f"{path}/weights:v0").url)
