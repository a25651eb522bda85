"""The parts of ./dev test: one line each. suite.py runs them."""

import dataclasses
import os
import pathlib
import sys

PYTHON = sys.executable
PEER = "$KEDGE_PEER_PYTHON"
FUZZERS = ("klog", "safetensors", "manifest", "http", "log_body", "wandb")


@dataclasses.dataclass(frozen=True)
class Part:
    """`needs`: without these it is skipped (needs.sh brings them); `uses`: what they bring is in
    its environment, and without it some of its tests are skipped. `is_alone`: it watches the clock,
    keeps all cores busy or runs daemons of the whole machine, so nothing runs beside it. `quick`:
    what ./dev test --quick runs of it. A word $NAME of a command is a variable that a need has
    brought."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    is_alone: bool = False
    quick: tuple[str, ...] = ()


def python(*words: str) -> tuple[str, ...]:
    return (PYTHON, *words)


def peer(*words: str) -> tuple[str, ...]:
    return (PEER, *words)


def unit_tests(folder: str, *more: str) -> tuple[str, ...]:
    options = ("--output-on-failure", "--no-tests=error", "-j", str(os.cpu_count()))
    return ("ctest", "--test-dir", folder, *options, *more)


def discover(folder: str) -> tuple[str, ...]:
    return python("-m", "unittest", "discover", "-v", "-s", folder, "-p", "*_test.py")


KEDGE = "build/bin/kedge"
LINT = ("bash", "tools/dev/lint.sh", "--no-tidy")
# Those that were built.
TESTS = sorted(path.name for path in pathlib.Path("build/bin").glob("*_test"))
BUILT = f"^({'|'.join(TESTS)})$" if TESTS else ""

# The longest first, so that the last two end at about the same time.
PARTS = [
    Part("docs", python("tools/check_docs.py")),
    Part("cli", python("tests/cli/run.py"), quick=python("tests/cli/run.py")),
    Part("bad-inputs", python("tests/cli/bad_inputs.py")),
    Part("security", discover("tests/security"), uses=("peers",)),
    Part(
        "fuzz",
        ("bash", "tests/fuzz/run.sh", "--seconds", "5", "--seed", "1", *FUZZERS),
        needs=("clang",),
    ),
    Part("wandb-py", peer("tests/wandb/clients.py"), needs=("peers",)),
    Part("mlflow-py", peer("tests/mlflow/clients.py"), needs=("peers",)),
    Part("server", python("tests/server/contract.py", "-v")),
    Part("mlflow", python("tests/mlflow/contract.py", "-v")),
    Part("wandb", python("tests/wandb/contract.py", "-v")),
    Part("web", ("npm", "--prefix", "web", "run", "check"), needs=("node",)),
    Part("onnx", peer("tests/python/onnx_test.py"), needs=("peers",)),
    Part("interop", peer("tests/python/interop_test.py"), needs=("peers",)),
    Part("instruct", peer("tests/python/instruct_test.py"), needs=("peers",)),
    Part("talk", peer("tests/python/talk_test.py"), needs=("peers",)),
    Part("eval", peer("tests/python/eval_test.py"), needs=("peers",)),
    Part("moe", peer("tests/python/moe_test.py"), needs=("peers",)),
    Part("exchange", peer("tests/python/exchange_test.py"), needs=("peers",)),
    Part(
        "tokenizers",
        peer("tests/tokenizers/parity.py", KEDGE, "--megabytes", "0.2"),
        needs=("peers",),
    ),
    Part("old-runs", python("tests/identity/old_runs.py")),
    Part("one-batch", python("tests/identity/one_batch.py")),
    Part("identity", python("tests/identity/golden.py"), quick=python("tests/identity/golden.py")),
    Part("faults", python("tests/resume/faults.py")),
    Part("full-disk", python("tests/sweep/full_disk.py", KEDGE)),
    Part("false-amx", python("tests/cpu/false_amx.py", KEDGE)),
    Part("tools", discover("tests/tools")),
    Part("ldd", python("tests/ldd_test.py")),
    Part("lint", LINT, quick=LINT),
    Part(
        "unit",
        unit_tests("build"),
        is_alone=True,
        quick=unit_tests("build", "-R", BUILT) if TESTS else (),
    ),
    Part("kills", python("tests/resume/kill.py", "--kills", "20"), is_alone=True),
    Part("parity", python("tests/dist/parity.py"), is_alone=True),
    Part("ranks", python("tests/dist/elastic.py"), is_alone=True),
    Part("sweeps", python("tests/sweep/agents.py", KEDGE), is_alone=True),
    Part(
        "hosted-sweeps",
        python("tests/sweep/agents.py", KEDGE, "--server", "--restarts", "2"),
        is_alone=True,
    ),
    Part("rungs", python("tests/sweep/native.py", KEDGE), is_alone=True),
    Part("ingest", python("tests/server/ingest.py"), is_alone=True),
    Part(
        "journeys",
        ("node", "tests/web/journeys.mjs", KEDGE),
        needs=("chromium",),
        uses=("peers",),
        is_alone=True,
    ),
    Part("slurm", python("tests/slurm/jobs.py", KEDGE), needs=("slurm",), is_alone=True),
    Part(
        "jobs",
        python("tests/jobs/conformance.py", KEDGE),
        uses=("slurm", "condor"),
        is_alone=True,
    ),
    Part("condor", python("tests/condor/jobs.py"), needs=("condor",), is_alone=True),
    Part("machines", python("tests/condor/several.py"), needs=("condor",), is_alone=True),
    Part("gpu", peer("tests/gpu/exact.py"), needs=("gpu", "peers"), is_alone=True),
]
SANITIZED = {kind: [Part("unit", unit_tests(f"build-{kind}"))] for kind in ("asan", "tsan")}
