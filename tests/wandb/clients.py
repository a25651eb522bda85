"""Unmodified `wandb` clients against a real kedge server.

    PYTHON tests/wandb/clients.py [BINARY] [NAME...]    run the tests, with this Python's wandb
    python3 tests/wandb/clients.py --table              print the table of docs/reference/wandb.md

Each test says which calls of the client it shows to work; the table of the documentation is made of
that. Expected values are what the scripts themselves logged.
"""

import contextlib
import os
import pathlib
import sys
import tempfile
import time
import traceback

import artifact_claims  # noqa: F401
import fault_claims  # noqa: F401
import run_claims  # noqa: F401
import sweep_claims  # noqa: F401
from world import CLAIMS, World

HERE = pathlib.Path(__file__).resolve().parent


def render_table() -> str:
    lines = ["| calls | what is shown |", "| --- | --- |"]
    for calls, claim, _ in CLAIMS:
        quoted = ", ".join(f"`{call}`" for call in calls.split(", "))
        lines.append(f"| {quoted} | {claim} |")
    return "\n".join(lines)


def main() -> int:
    if "--table" in sys.argv:
        print(render_table())
        return 0
    import wandb

    arguments = sys.argv[1:]
    binary = HERE.parents[1] / "build/bin/kedge"
    if arguments and os.path.exists(arguments[0]):
        binary = pathlib.Path(arguments.pop(0)).resolve()
    failed = []
    with tempfile.TemporaryDirectory(prefix="wandb-client-") as folder:
        world = World(binary, pathlib.Path(folder))
        world.start()
        try:
            for _, claim, test in CLAIMS:
                if arguments and test.__name__ not in arguments:
                    continue
                start = time.monotonic()
                try:
                    test(world)
                    print(f"ok      {claim}  {time.monotonic() - start:.1f} s", flush=True)
                except Exception:
                    traceback.print_exc()
                    print(f"FAILED  {claim}", flush=True)
                    failed.append(claim)
                    with contextlib.suppress(Exception):
                        wandb.finish()
        finally:
            world.server.stop()
        if failed:
            print(world.server.log.read_text()[-3000:])
    print(f"wandb {wandb.__version__}: {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
