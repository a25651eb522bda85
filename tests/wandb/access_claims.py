"""Who may do what, by the client's own words: keys, tokens that ran out, projects out of reach."""

import json
import os
import subprocess
import sys
import time
import urllib.request

from world import ServerProcess, same, shows, wait_for


def guarded(world, name: str) -> tuple[ServerProcess, str]:
    """A server with --auth, and its admin's token."""
    server = ServerProcess(world.server.binary, world.folder / name, "--auth")
    server.start()
    return server, (world.folder / name / "admin-token").read_text().strip()


def post(server: ServerProcess, token: str, path: str, body: dict) -> dict:
    request = urllib.request.Request(
        server.url + path,
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def script(world, server, key: str, text: str) -> tuple[int, str]:
    environment = world.clean_environment(WANDB_BASE_URL=server.url, WANDB_API_KEY=key)
    environment["WANDB_SILENT"] = "false"
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=world.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done.returncode, done.stdout + done.stderr


LOG = (
    "import wandb\nrun = wandb.init(project='guarded', id='{}')\nrun.log({{'x': 1}})\nrun.finish()"
)


@shows(
    "WANDB_API_KEY of a token",
    "a wrong key",
    "a token that has expired",
    "a key that may only read",
)
def keys_are_asked_for_and_refusals_are_understood(world):
    server, admin = guarded(world, "guarded")
    try:
        code, out = script(world, server, admin, LOG.format("welcome"))
        same(code, 0, out)
        for what, key in [("nobody", "x" * 40), ("short-lived", short_lived(server, admin))]:
            code, out = script(world, server, key, LOG.format(what))
            assert code != 0, out
            assert "401" in out or "API key" in out or "authenticat" in out.lower(), out
        reader = post(server, admin, "/api/v1/tokens", {"name": "r", "scopes": ["view"]})["token"]
        code, out = script(world, server, reader, LOG.format("reader"))
        assert code != 0 and ("403" in out or "may read" in out or "ermission" in out), out
        code, out = script(
            world,
            server,
            reader,
            "import wandb\nprint('X IS', wandb.Api().run('guarded/welcome').summary['x'])",
        )
        same(code, 0, out)
        assert "X IS 1" in out, out
        found = post(server, admin, "/api/v1/runs/search", {"project": "guarded"})["runs"]
        same([run["id"] for run in found], ["welcome"])
    finally:
        server.stop()


def short_lived(server, admin) -> str:
    token = post(
        server, admin, "/api/v1/tokens", {"name": "s", "scopes": ["write"], "expires_in_s": 1}
    )["token"]

    def is_over():
        request = urllib.request.Request(
            server.url + "/api/v1/projects", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            urllib.request.urlopen(request).close()
            return False
        except urllib.error.HTTPError as refused:
            return refused.code == 401

    wait_for(is_over)
    return token


@shows("wandb.login(verify=True)", "wandb login --verify", "a key for another project")
def logging_in_tells_a_good_key_from_a_bad_one(world):
    server, admin = guarded(world, "login")
    login = "import wandb\nprint('IN', wandb.login(key='{}', verify=True, relogin=True))"
    try:
        code, out = script(world, server, "", login.format(admin))
        same(code, 0, out)
        assert "IN True" in out, out
        code, out = script(world, server, "", login.format("y" * 40))
        assert code != 0 and "the key is not valid" in out, out
        token = {"name": "p", "scopes": ["write"], "project": "elsewhere"}
        elsewhere = post(server, admin, "/api/v1/tokens", token)["token"]
        code, out = script(world, server, elsewhere, LOG.format("stranger"))
        assert code != 0 and "elsewhere" in out, out
        same(post(server, admin, "/api/v1/runs/search", {"project": "guarded"})["runs"], [])
    finally:
        server.stop()


@shows("kedge run sets WANDB_BASE_URL and WANDB_API_KEY")
def a_program_under_kedge_run_reaches_the_server(world):
    server, admin = guarded(world, "wrapped")
    try:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("WANDB")
        }
        environment.update(
            KEDGE_SERVER=server.url,
            KEDGE_TOKEN=admin,
            HOME=str(world.folder),
            WANDB_DIR=str(world.folder),
        )
        done = subprocess.run(
            [
                *(world.server.binary, "run", "--project", "outer", "--"),
                *(sys.executable, "-c", LOG.format("inner")),
            ],
            cwd=world.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
        same(done.returncode, 0, done.stdout + done.stderr)
        found = post(server, admin, "/api/v1/runs/search", {"project": "guarded"})["runs"]
        same([(run["id"], run["state"]) for run in found], [("inner", "finished")])
        deadline = time.monotonic() + 30
        outer = []
        while not outer and time.monotonic() < deadline:
            outer = post(server, admin, "/api/v1/runs/search", {"project": "outer"})["runs"]
        same(len(outer), 1)
    finally:
        server.stop()
