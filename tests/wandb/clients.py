"""Unmodified `wandb` clients against a real kedge server.

    PYTHON tests/wandb/clients.py [--record] [BINARY] [NAME...]    with this Python's wandb
    python3 tests/wandb/clients.py --table       print the table of docs/reference/wandb.md

Each test says which calls of the client it shows to work. With --record the outcome goes to
results.json beside this file, for each version of the client, and the table of the documentation
is made of that. Expected values are what the scripts themselves logged.
"""

import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time
import traceback
import unittest

import access_claims  # noqa: F401
import artifact_claims  # noqa: F401
import fault_claims  # noqa: F401
import media_claims  # noqa: F401
import run_claims  # noqa: F401
import sweep_claims  # noqa: F401
import sweep_method_claims  # noqa: F401
from world import CLAIMS, World

HERE = pathlib.Path(__file__).resolve().parent


RESULTS = HERE / "results.json"


def read_results() -> dict:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def render_table() -> str:
    results = read_results()
    versions = sorted(results, key=lambda text: [int(n) for n in text.split(".")], reverse=True)
    lines = [
        f"| calls | what is shown | {' | '.join(versions)} |",
        f"| --- | --- |{' --- |' * len(versions)}",
    ]
    for calls, claim, _ in CLAIMS:
        quoted = ", ".join(f"`{call}`" for call in calls.split(", "))
        outcomes = " | ".join(results[version].get(claim, "not run") for version in versions)
        lines.append(f"| {quoted} | {claim} | {outcomes} |")
    return "\n".join(lines)


def record(version: str, outcomes: dict) -> None:
    results = read_results()
    results[version] = results.get(version, {}) | outcomes
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def run_claim(test, world) -> str:
    import wandb

    try:
        test(world)
    except unittest.SkipTest as why:
        print(why)
        return "not run"
    except Exception:
        traceback.print_exc()
        with contextlib.suppress(Exception):
            wandb.finish()
        return "**fails**"
    return "passes"


def main() -> int:
    if "--table" in sys.argv:
        print(render_table())
        return 0
    import wandb

    arguments = [word for word in sys.argv[1:] if word != "--record"]
    binary = HERE.parents[1] / "build/bin/kedge"
    if arguments and os.path.exists(arguments[0]):
        binary = pathlib.Path(arguments.pop(0)).resolve()
    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="wandb-client-") as folder:
        world = World(binary, pathlib.Path(folder))
        world.start()
        try:
            for _, claim, test in CLAIMS:
                if arguments and test.__name__ not in arguments:
                    continue
                start = time.monotonic()
                outcomes[claim] = run_claim(test, world)
                took = time.monotonic() - start
                print(f"{outcomes[claim]:9} {claim}  {took:.1f} s", flush=True)
                if "--record" in sys.argv:
                    record(wandb.__version__, outcomes)
        finally:
            world.server.stop()
        failed = [claim for claim, outcome in outcomes.items() if outcome == "**fails**"]
        if failed:
            print(world.server.log.read_text()[-3000:])
    print(f"wandb {wandb.__version__}: {len(failed)} of {len(outcomes)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
