"""The Python that has the real clients, and what it is told to run."""

import os
import pathlib
import subprocess
import sys
import textwrap

PYTHON = os.environ.get("KEDGE_PEER_PYTHON", sys.executable)


def has_clients(*modules: str) -> bool:
    return (
        subprocess.run([PYTHON, "-c", "import " + ", ".join(modules)], capture_output=True)
    ).returncode == 0


def run_client(text: str, folder: pathlib.Path, url: str, key: str = "k" * 40, **more: str) -> str:
    """Runs a script with both clients set to the server; returns what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    done = subprocess.run(
        [PYTHON, "-c", textwrap.dedent(text)],
        cwd=folder,
        env={
            **kept,
            "WANDB_BASE_URL": url,
            "WANDB_API_KEY": key,
            "WANDB_DIR": str(folder),
            "WANDB_CACHE_DIR": str(folder / "cache"),
            "WANDB_CONFIG_DIR": str(folder / "config"),
            "WANDB_DATA_DIR": str(folder / "staging"),
            "WANDB_SILENT": "true",
            "MLFLOW_TRACKING_URI": url,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "HOME": str(folder),
            **more,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout
