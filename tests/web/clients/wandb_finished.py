"""A run with everything around its values: artifacts used and made, alerts, a second start."""

import time

import wandb

PROJECT = "whole"


def add(run, name, type):
    made = wandb.Artifact(name, type=type)
    with made.new_file("data.txt") as file:
        file.write(name)
    run.log_artifact(made).wait()


with wandb.init(project=PROJECT, id="maker", name="maker") as run:
    add(run, "pictures", "dataset")
with wandb.init(project=PROJECT, id="whole1", name="whole run") as run:
    run.alert("early", "before anything was logged")
    run.use_artifact("pictures:latest")
    time.sleep(0.2)
    for step in range(30):
        run.log({"loss": 1 / (step + 1)})
    time.sleep(0.2)
    run.alert("late", "after step 29")
    time.sleep(0.2)
    run.log({"loss": 0.0})
    add(run, "network", "model")
