"""What happens when the server is killed in the middle."""

import contextlib
import time

from world import same, shows, wait_for


@shows("the server killed and started again while a run logs")
def nothing_is_lost_when_the_server_is_killed(world):
    script = world.script("""
        import sys, time, wandb
        run = wandb.init(project="kill", id="through", settings=wandb.Settings(
            x_file_stream_transmit_interval=0.3))
        for i in range(300):
            run.log({"x": i})
            time.sleep(0.02)
        run.finish()
        """)

    def steps():
        with contextlib.suppress(Exception):
            return world.last_step("kill", "through")
        return 0

    wait_for(lambda: steps() > 20)
    for _ in range(2):
        world.server.kill()
        time.sleep(0.5)
        world.server.start()
        time.sleep(0.7)
    out = script.communicate(timeout=180)[0]
    same(script.returncode, 0, out)
    rows = [row["x"] for row in world.api().run("kill/through").scan_history()]
    same(rows, list(range(300)))


@shows("the server killed and started again while an artifact is sent")
def an_artifact_arrives_whole_when_the_server_is_killed(world):
    script = world.script("""
        import os, wandb
        run = wandb.init(project="killart", id="sender")
        artifact = wandb.Artifact("big", type="dataset")
        for i in range(150):
            with artifact.new_file(f"{i}.bin", mode="wb") as file:
                file.write(os.urandom(200_000))
        print("sending", flush=True)
        run.log_artifact(artifact)
        run.finish()
        """)
    for line in script.stdout:
        if "sending" in line:
            break
    time.sleep(0.4)
    world.server.kill()
    time.sleep(0.5)
    world.server.start()
    out = script.communicate(timeout=180)[0]
    same(script.returncode, 0, out)
    artifact = world.api().artifact("killart/big:v0")
    same(len(artifact.manifest.entries), 150)
    artifact.download(str(world.folder / "big"))
    artifact.verify(str(world.folder / "big"))
