#!/usr/bin/env python3
"""How does `kedge server` stand beside the MLflow server, over raw HTTP on the same machine?

    python3 bench/server_vs_mlflow.py [--kedge PROGRAM] [--mlflow PROGRAM] [--rounds 3]
                                      [--runs 10000] [--points 100000] [--json]

Needs `mlflow` (3.x, its full package) for the peer; with --mlflow '' only kedge is measured. Both
servers keep a fresh SQLite store, listen on 127.0.0.1 and are asked by one keep-alive connection of
Python's http.client, in turns: the peer's own client is slower than either server. Single values
are sent over plain sockets, because http.client takes longer than the answer. MLflow has one
worker. Requests are rendered before the clock starts, and answers are checked after it has stopped.

  log        values/s, one value a call, over one connection
  log by 8   the same over 8 connections, each waiting for its answer before it sends the next
  batch      values/s, 1,000 values a call
  search     ms for a filtered and ordered search over the runs, 100 results
  history    ms for every point of one metric
  memory     MiB (PSS of all processes), after the start and after all of this
  start      s from the command to the first answer

The column "dialect" is kedge asked by MLflow's own calls. With --python PYTHON (one that has
mlflow) the mlflow package's client does the same work against each, and against a server that
answers {} to everything: that is the client's own floor.
"""

import argparse
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve()
ROOT = PROGRAM.parents[1]
BATCH = 1000
OPTIMIZERS = ("adam", "sgd", "rmsprop")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes_of(pid):
    """The process and all below it."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            stat = pathlib.Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
            children.setdefault(int(stat[1]), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def memory_mib(pid):
    total = 0
    for process in processes_of(pid):
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


class Server:
    """One server process with a fresh store. Subclasses know its language."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="kedge-bench-")
        self.port = free_port()
        started = time.perf_counter()
        self.process = subprocess.Popen(
            self.command(program),
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.connection.request("GET", self.first_call())
                response = self.connection.getresponse()
                response.read()
                if response.status == 200:
                    break
            self.connection.close()
            if self.process.poll() is not None or time.perf_counter() - started > 120:
                sys.exit(f"{program} did not start")
            time.sleep(0.002)
        self.start_s = time.perf_counter() - started

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            self.connection.request(method, path, body=body, headers=headers)
            response = self.connection.getresponse()
        except (OSError, http.client.HTTPException):  # an idle connection was closed
            self.connection.close()
            self.connection.request(method, path, body=body, headers=headers)
            response = self.connection.getresponse()
        answer = response.read()
        if response.status not in (200, 201):
            sys.exit(f"{method} {path}: {response.status} {answer[:300]!r}")
        return answer

    def send_json(self, path, body):
        return json.loads(self.call("POST", path, json.dumps(body)))

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


class Kedge(Server):
    def command(self, program):
        place = ["--data", f"{self.folder}/data", "--port", str(self.port)]
        return [program, "server", *place, "--auth", "none"]  # as MLflow's is

    def first_call(self):
        return "/api/v1/projects"

    def make_run(self, index):
        run = {
            "name": f"run-{index}",
            "tags": [f"g{index % 10}"],
            "config": {
                "lr": 10.0 ** -(index % 5),
                "opt": OPTIMIZERS[index % 3],
                "depth": index % 12,
            },
        }
        return self.send_json("/api/v1/runs/bench", run)["id"]

    def log_path(self, run):
        return f"/api/v1/runs/bench/{run}/log"

    def one_value(self, run, key, step):
        return json.dumps({"points": [{"key": key, "step": step, "value": step * 0.5}]})

    def many_values(self, run, key, first):
        points = [
            {"key": key, "step": first + i, "value": (first + i) * 1e-3, "time_us": 10**15 + i}
            for i in range(BATCH)
        ]
        return json.dumps({"points": points})

    def summarise(self, run, index):
        values = {
            key: (index * 7919 % 1000) / 1000 + j for j, key in enumerate(("loss", "acc", "f1"))
        }
        self.call("POST", self.log_path(run), json.dumps({"step": 0, "values": values}))

    def search(self):
        body = {
            "project": "bench",
            "filter": 'loss < 0.5 and config.opt = "adam"',
            "order": ["summary.loss"],
            "limit": 100,
        }
        return self.call("POST", "/api/v1/runs/search", json.dumps(body))

    def history(self, run, key):
        return self.call("GET", f"/api/v1/runs/bench/{run}/history?key={key}")

    POINTS = "points"


class Mlflow(Server):
    def command(self, program):
        os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")
        return [
            *(program, "server", "--host", "127.0.0.1", "--port", str(self.port)),
            *("--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db", "--workers", "1"),
        ]

    def first_call(self):
        return "/api/2.0/mlflow/experiments/get?experiment_id=0"

    def make_run(self, index):
        run = {
            "experiment_id": "0",
            "run_name": f"run-{index}",
            "tags": [{"key": "group", "value": f"g{index % 10}"}],
        }
        return self.send_json("/api/2.0/mlflow/runs/create", run)["run"]["info"]["run_id"]

    def log_path(self, run):
        return "/api/2.0/mlflow/runs/log-batch"

    def metric(self, key, step, value):
        return {"key": key, "value": value, "timestamp": 10**12 + step, "step": step}

    def one_value(self, run, key, step):
        return json.dumps({"run_id": run, "metrics": [self.metric(key, step, step * 0.5)]})

    def many_values(self, run, key, first):
        metrics = [self.metric(key, first + i, (first + i) * 1e-3) for i in range(BATCH)]
        return json.dumps({"run_id": run, "metrics": metrics})

    def summarise(self, run, index):
        value = (index * 7919 % 1000) / 1000
        body = {
            "run_id": run,
            "metrics": [self.metric(k, 0, value + j) for j, k in enumerate(("loss", "acc", "f1"))],
            "params": [
                {"key": "lr", "value": str(10.0 ** -(index % 5))},
                {"key": "opt", "value": OPTIMIZERS[index % 3]},
                {"key": "depth", "value": str(index % 12)},
            ],
        }
        self.call("POST", self.log_path(run), json.dumps(body))

    def search(self):
        body = {
            "experiment_ids": ["0"],
            "filter": "metrics.loss < 0.5 AND params.opt = 'adam'",
            "order_by": ["metrics.loss ASC"],
            "max_results": 100,
        }
        return self.call("POST", "/api/2.0/mlflow/runs/search", json.dumps(body))

    def history(self, run, key):
        path = f"/api/2.0/mlflow/metrics/get-history?run_id={run}&metric_key={key}"
        return self.call("GET", path)

    POINTS = "metrics"


class Dialect(Mlflow):
    """The same calls as those to MLflow, of kedge."""

    command = Kedge.command


class Nothing(Mlflow):
    """Answers {} to everything: what the client itself costs."""

    def command(self, program):
        return [sys.executable, str(PROGRAM), "--answer-nothing", str(self.port)]


class NothingHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET

    def log_message(self, *_):
        pass


CLIENT = """
import json, sys, time
from mlflow import MlflowClient
from mlflow.entities import Metric
url, run, calls, batches, experiment = sys.argv[1:]
client = MlflowClient(url)

def rate(count, function):
    function(0)
    started = time.perf_counter()
    for i in range(1, count + 1):
        function(i)
    return (time.perf_counter() - started) / count * 1000

row = {"log_metric ms": rate(int(calls), lambda i: client.log_metric(run, "one", i, step=i))}
metrics = [Metric("many", i / 7, 1000 + i, i) for i in range(1000)]
row["log_batch ms"] = rate(int(batches), lambda i: client.log_batch(run, metrics))
row["search_runs ms"] = rate(int(batches), lambda i: client.search_runs(
    [experiment], "metrics.loss < 0.5 AND params.opt = 'adam'", order_by=["metrics.loss ASC"],
    max_results=100))
print(json.dumps(row))
"""


def measure_client(kind, program, args):
    """What a user waits for a call of the mlflow package: the same work, by its own client."""
    server = kind(program)
    run = "0" * 32
    if kind is not Nothing:
        for index in range(args.runs):
            server.summarise(server.make_run(index), index)
        run = server.make_run(0)
    command = [args.python, "-c", CLIENT, f"http://127.0.0.1:{server.port}", run, "200", "10", "0"]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    server.stop()
    return json.loads(done.stdout.splitlines()[-1])


def seconds(function):
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result


def log_singly(server, run, key, calls, connections):
    """Values a second, one a call, each connection waiting for its answer."""
    requests = []
    for i in range(calls):
        body = server.one_value(run, key, i).encode()
        head = (
            f"POST {server.log_path(run)} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        requests.append(head.encode() + body)
    waiting = iter(requests)
    sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(each, selectors.EVENT_READ)
    answers, partial = [], dict.fromkeys(sockets, b"")
    started = time.perf_counter()
    for each in sockets:
        each.sendall(next(waiting))
    while len(answers) < calls:
        for ready, _ in selector.select():
            each = ready.fileobj
            partial[each] += each.recv(65536)
            if not is_whole(partial[each]):
                continue
            answers.append(partial[each])
            partial[each] = b""
            if request := next(waiting, None):
                each.sendall(request)
    took = time.perf_counter() - started
    for each in sockets:
        each.close()
    wrong = [answer for answer in answers if b" 200 " not in answer[:16]]
    assert not wrong, wrong[0][:300]
    return calls / took


def is_whole(answer):
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def post_all(server, path, bodies):
    for body in bodies:
        server.call("POST", path, body)


def matching(count):
    """How many of that many runs the search asks for: those with a loss below 0.5 and adam."""
    return sum(i % 3 == 0 and i * 7919 % 1000 < 500 for i in range(count))


def measure(kind, program, args):
    """One row: each question's median over the rounds."""
    server = kind(program)
    row = {"start s": server.start_s, "memory MiB": memory_mib(server.process.pid)}
    names = ["log values/s", "log by 8 values/s", "batch values/s", "search ms", "history ms"]
    rates = {name: [] for name in names}
    for round_ in range(args.rounds):
        run = server.make_run(0)
        rates["log values/s"].append(log_singly(server, run, f"k{round_}", args.calls, 1))
        rates["log by 8 values/s"].append(log_singly(server, run, f"m{round_}", args.calls, 8))
        bodies = [server.many_values(run, "loss", b * BATCH) for b in range(10)]
        took, _ = seconds(lambda: post_all(server, server.log_path(run), bodies))
        rates["batch values/s"].append(len(bodies) * BATCH / took)
    started = time.perf_counter()
    for index in range(args.runs):
        server.summarise(server.make_run(index), index)
    row["runs made/s"] = args.runs / (time.perf_counter() - started)
    run = server.make_run(0)
    bodies = [server.many_values(run, "long", b * BATCH) for b in range(args.points // BATCH)]
    post_all(server, server.log_path(run), bodies)
    for _ in range(args.rounds):
        took, answer = seconds(server.search)
        found = len(json.loads(answer)["runs"])
        assert found == min(100, matching(args.runs)), f"{found} runs, {answer[:200]!r}"
        rates["search ms"].append(took * 1000)
        took, answer = seconds(lambda: server.history(run, "long"))
        assert len(json.loads(answer)[server.POINTS]) == args.points, answer[:200]
        rates["history ms"].append(took * 1000)
    row["memory at the end MiB"] = memory_mib(server.process.pid)
    server.stop()
    return row | {name: statistics.median(values) for name, values in rates.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kedge", default=str(ROOT / "build/bin/kedge"))
    parser.add_argument("--mlflow", default=shutil.which("mlflow") or "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=300, help="with one value each, a round")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--python", default="", help="a Python with mlflow: measure its client")
    parser.add_argument("--answer-nothing", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.answer_nothing:
        address = ("127.0.0.1", args.answer_nothing)
        http.server.ThreadingHTTPServer(address, NothingHandler).serve_forever()
    rows = {
        "kedge": measure(Kedge, args.kedge, args),
        "dialect": measure(Dialect, args.kedge, args),
    }
    if args.mlflow:
        rows["mlflow"] = measure(Mlflow, args.mlflow, args)
    clients = {}
    if args.python:
        clients["dialect"] = measure_client(Dialect, args.kedge, args)
        if args.mlflow:
            clients["mlflow"] = measure_client(Mlflow, args.mlflow, args)
        clients["floor"] = measure_client(Nothing, "", args)
    if args.json:
        print(json.dumps({"raw": rows, "client": clients}, indent=1))
        return
    print_raw(rows)
    if clients:
        print(
            f"\n| through the client | {' | '.join(clients)} |\n|{' --- |' * (len(clients) + 1)}"
        )
        for name in clients["dialect"]:
            print(f"| {name} | {' | '.join(f'{row[name]:,.3g}' for row in clients.values())} |")


def print_raw(rows):
    print(f"| | {' | '.join(rows)} | ratio |\n|{' --- |' * (len(rows) + 2)}")
    for name, mine in rows["kedge"].items():
        peer = rows.get("mlflow", {}).get(name)
        better = (mine / peer if name.endswith("/s") else peer / mine) if peer else 0
        cells = [f"{row[name]:,.4g}" for row in rows.values()]
        print(f"| {name} | {' | '.join(cells)} | {f'{better:,.1f}' if peer else ''} |")


if __name__ == "__main__":
    main()
