#!/usr/bin/env python3
"""Every way into a real `kedge server` ends in the same curves, whatever goes wrong on the way.

Usage: ingest.py [--bin FOLDER] [--kills N] [--seed S] [NAME ...]     (default: all)

Needs kedge and push_runs in FOLDER (default: build/bin); kedge-train is used where it is there.
"""

import argparse
import contextlib
import json
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import bad_proxy
from server_process import ServerProcess, folder_curves

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 60

TRAIN_CONFIG = """
data: {name: synthetic, samples: 400, image_size: 8, channels: 1}
model: {name: mlp, hidden: [16]}
loader: {batch_size: 20}
train: {epochs: 3, threads: 1, log_every: 1}
run: {project: load}
track: {system_every: 1}
"""


class Failure(Exception):
    pass


def check(condition: bool, what: str) -> None:
    if not condition:
        raise Failure(what)


class Scene:
    """A scratch folder with run folders, and the servers of one scenario."""

    def __init__(self, args: argparse.Namespace, folder: pathlib.Path) -> None:
        self.args = args
        self.folder = folder
        self.runs = folder / "runs"
        self.random = random.Random(args.seed)
        self.servers: list[ServerProcess] = []

    def server(self, name: str, *options: str) -> ServerProcess:
        server = ServerProcess(self.args.bin / "kedge", self.folder / name, *options)
        self.servers.append(server)
        server.start()
        return server

    def close(self) -> None:
        for server in self.servers:
            if server.process and server.process.poll() is None:
                server.process.kill()
                server.process.wait()

    def write_runs(self, *options: object) -> subprocess.Popen:
        """Logs as trainers do, in the background; see bench/push_runs.cc."""
        command = [self.args.bin / "push_runs", self.runs, *options]
        return subprocess.Popen(
            [str(word) for word in command],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def sync_command(self, url: str, *options: str) -> list[str]:
        return [str(self.args.bin / "kedge"), "sync", str(self.runs), "--server", url, *options]

    def sync(self, url: str, *options: str) -> dict:
        done = subprocess.run(
            self.sync_command(url, "--json", *options), capture_output=True, text=True, check=False
        )
        check(done.returncode == 0, f"sync: {done.returncode} {done.stdout[-800:]} {done.stderr}")
        return json.loads(done.stdout)

    def try_sync(self, url: str) -> subprocess.CompletedProcess:
        return subprocess.run(self.sync_command(url), capture_output=True, text=True, check=False)

    def start_sync(self, url: str) -> subprocess.Popen:
        return subprocess.Popen(
            self.sync_command(url), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    def folders(self) -> list[pathlib.Path]:
        return sorted(path.parent for path in self.runs.glob("*/*/run.json"))

    def check_equal(self, server: ServerProcess) -> None:
        """Curves, consoles and digests of every run folder are on the server, and no more."""
        answer = self.sync(server.url, "--dry-run")
        check(answer["missing"] == 0 and answer["equal"], f"digests differ: {answer}")
        for folder in self.folders():
            project, run = folder.parent.name, folder.name
            expected = folder_curves(self.args.bin / "kedge", folder)
            check(len(expected) > 0 or project == "wrapped", f"{folder} has no curves")
            check(server.curves(project, run) == expected, f"{run}: the curves differ")
            console = server.get(f"/api/v1/runs/{project}/{run}/console?limit=100000")
            lines = (folder / "console.log").read_text().splitlines()
            check([line["text"] for line in console["lines"]] == lines, f"{run}: console differs")


def finish(writer: subprocess.Popen) -> dict:
    out, errors = writer.communicate(timeout=180)
    check(writer.returncode == 0, f"push_runs: {writer.returncode} {errors}")
    return json.loads(out) | {"errors": errors}


def wait_until(what: str, is_true) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        check(time.monotonic() < deadline, f"{what}: not after {PATIENCE_S} s")
        time.sleep(0.05)


def state_of(server: ServerProcess, folder: pathlib.Path) -> str:
    return server.get(f"/api/v1/runs/{folder.parent.name}/{folder.name}")["state"]


def train(scene: Scene, server: ServerProcess, run: str) -> subprocess.CompletedProcess:
    (scene.folder / "config.yaml").write_text(TRAIN_CONFIG)
    command = [scene.args.bin / "kedge", "train", f"run.id={run}", f"track.server={server.url}"]
    return subprocess.run(command, cwd=scene.folder, capture_output=True, text=True, check=False)


def three_transports(scene: Scene) -> str:
    """Watched, pushed and synced: the same curves, consoles, states and files."""
    scene.runs.mkdir()
    watching = scene.server("watching", "--watch", str(scene.runs))
    pushed = scene.server("pushed")
    synced = scene.server("synced")
    writer = scene.write_runs("--server", pushed.url, "--runs", 3, "--steps", 400, "--rate", 200)
    command = [scene.args.bin / "kedge", "run", "--project", "wrapped", "--id", "wrapped"]
    command += ["--dir", scene.runs, "--server", pushed.url, "--", "sh", "-c", "seq 2000; exit 85"]
    wrapped = subprocess.run(command, capture_output=True, check=False)
    check(wrapped.returncode == 85, f"kedge run: {wrapped}")
    if (scene.args.bin / "kedge-train").exists():
        trained = train(scene, pushed, "trained")
        check(trained.returncode == 0, f"kedge train: {trained.stderr}")
    finish(writer)
    report = scene.sync(synced.url)
    check(report["equal"] and report["sent"] == report["records"] > 0, f"sync: {report}")
    folders = scene.folders()
    for folder in folders:
        expected = "preempted" if folder.name == "wrapped" else "finished"
        for server in (pushed, synced):
            check(state_of(server, folder) == expected, f"{folder.name}: state")
        wait_until("the watch", lambda f=folder, e=expected: is_there(watching, f, e))
    for server in (watching, pushed, synced):
        scene.check_equal(server)
    files = [
        {folder.name: file_list(server, folder) for folder in folders}
        for server in (watching, pushed, synced)
    ]
    check(files[0] == files[1] == files[2], f"files differ: {files}")
    return f"{report['records']} records of {len(folders)} runs"


def is_there(server: ServerProcess, folder: pathlib.Path, state: str) -> bool:
    try:
        return state_of(server, folder) == state
    except urllib.error.HTTPError:
        return False


def file_list(server: ServerProcess, folder: pathlib.Path) -> list:
    answer = server.get(f"/api/v1/runs/{folder.parent.name}/{folder.name}/files")
    return sorted((file["path"], file["digest"]) for file in answer["files"])


def read_frames(log: pathlib.Path) -> bytes:
    """The records of an event log without its header; see docs/formats/klog.md."""
    data = log.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    return data[12 + 8 + length :]


def post_frames(server: ServerProcess, path: str, frames: bytes) -> tuple[int, dict]:
    request = urllib.request.Request(server.url + path, data=frames, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def twice_sent(scene: Scene) -> str:
    """Logs sent again change nothing; gaps and damage are refused."""
    server = scene.server("server")
    finish(scene.write_runs("--steps", 500, "--rate", 0))
    scene.sync(server.url)
    scene.check_equal(server)
    log = "/api/v1/ingest/load/run/a1-r0"
    before = server.get(log)
    frames = read_frames(scene.runs / "load/run/events-a1-r0.klog")
    status, again = post_frames(server, f"{log}?from_seq=0", frames)
    check((status, again["next_seq"]) == (200, before["next_seq"]), f"again: {status} {again}")
    (first,) = struct.unpack_from("<I", frames)
    other = "/api/v1/ingest/load/run/a2-r0"
    status, gap = post_frames(server, f"{other}?from_seq=1", frames[8 + first :])
    check((status, gap.get("next_seq")) == (409, 0), f"gap: {status} {gap}")
    damaged = frames[: 8 + first // 2] + b"\x00" + frames[9 + first // 2 :]
    for bad in (damaged, frames[:-1], frames[1:], b"\xff" * 100):
        status, answer = post_frames(server, f"{log}?from_seq=0", bad)
        check(status in (400, 422) and "error" in answer, f"damage: {status} {answer}")
    check(server.get(log) == before, "the position has moved")
    check(scene.sync(server.url)["sent"] == 0, "something was sent again")
    scene.check_equal(server)
    return f"{before['next_seq']} records"


def other_folders(scene: Scene) -> str:
    """Another run of the same name is refused; a folder that lost its last records is not."""
    server = scene.server("server")
    finish(scene.write_runs("--steps", 300, "--rate", 0))
    scene.sync(server.url)
    position = server.get("/api/v1/ingest/load/run/a1-r0")
    kept = scene.runs.rename(scene.folder / "kept")
    finish(scene.write_runs("--steps", 400, "--rate", 0))
    refused = scene.try_sync(server.url)
    check(refused.returncode == 1 and "has another log" in refused.stderr, f"{refused}")
    check(server.get("/api/v1/ingest/load/run/a1-r0") == position, "the other log was mixed in")
    shutil.rmtree(scene.runs)
    kept.rename(scene.runs)
    log = scene.runs / "load/run/events-a1-r0.klog"
    whole = log.read_bytes()
    log.write_bytes(whole[:-100])
    shorter = scene.try_sync(server.url)
    check(shorter.returncode == 0 and "a crash took the last ones" in shorter.stderr, f"{shorter}")
    log.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    damaged = scene.try_sync(server.url)
    check(damaged.returncode == 1 and "is damaged" in damaged.stderr, f"{damaged}")
    log.write_bytes(whole)
    scene.check_equal(server)
    return f"{position['next_seq']} records"


def with_tokens(scene: Scene) -> str:
    """A run without a token goes on, and says what it needs; a token file lets it in."""
    server = scene.server("server", "--auth")
    options = ["--steps", 100, "--rate", 0, "--server", server.url]
    begin = time.monotonic()
    report = finish(scene.write_runs(*options))
    check("KEDGE_TOKEN" in report["errors"] and "kedge sync" in report["errors"], f"{report}")
    check(time.monotonic() - begin < 8, "waited for a server that will not change its mind")
    refused = scene.try_sync(server.url)
    check(refused.returncode == 1 and "KEDGE_TOKEN" in refused.stderr, f"{refused}")
    token = str(scene.folder / "server/admin-token")
    sent = scene.sync(server.url, "--token-file", token)
    check(sent["equal"] and sent["sent"] == sent["records"], f"{sent}")
    return f"{sent['records']} records"


def kill_server(scene: Scene, server: ServerProcess, longest_s: float) -> None:
    time.sleep(scene.random.uniform(0.02, longest_s))
    server.kill()
    time.sleep(scene.random.uniform(0, 0.2))
    server.start()


def server_killed_during_push(scene: Scene) -> str:
    """The server is killed again and again while runs push to it."""
    server = scene.server("server")
    rate, longest_s = 300, 0.6
    steps = int(rate * scene.args.kills * (longest_s + 0.3))
    options = ["--runs", 5, "--steps", steps, "--rate", rate, "--wait", 60]
    writer = scene.write_runs("--server", server.url, *options)
    for _ in range(scene.args.kills):
        kill_server(scene, server, longest_s)
    check(writer.poll() is None, "the runs ended before the kills")
    writer.send_signal(signal.SIGTERM)
    report = finish(writer)
    check("kedge sync" not in report["errors"], f"not all was pushed: {report['errors']}")
    scene.check_equal(server)
    return f"{scene.args.kills} kills"


def server_killed_during_sync(scene: Scene) -> str:
    """The server is killed again and again while folders are sent to it."""
    server = scene.server("server")
    finish(scene.write_runs("--runs", 20, "--steps", 3000, "--rate", 0))
    kills, tries = 0, 0
    while kills < scene.args.kills:
        tries += 1
        finish(scene.write_runs("--id", f"more{tries}", "--runs", 10, "--steps", 3000, "--rate", 0))
        with scene.start_sync(server.url) as sender:
            while kills < scene.args.kills and sender.poll() is None:
                kill_server(scene, server, 0.25)
                kills += 1
            _, errors = sender.communicate(timeout=120)
            check(sender.returncode == 0, f"sync: {errors.decode()}")
    scene.check_equal(server)
    return f"{kills} kills over {tries} syncs"


def client_killed(scene: Scene) -> str:
    """Pushing runs and syncs are killed; what is in the folders is on the server in the end."""
    server = scene.server("server")
    for number in range(4):
        options = ["--id", f"killed{number}", "--runs", 3, "--steps", 100_000, "--rate", 500]
        writer = scene.write_runs("--server", server.url, *options)
        time.sleep(scene.random.uniform(0.5, 2))
        writer.kill()
        writer.communicate()
    cut = 0
    for number in range(4):
        options = ["--id", f"later{number}", "--runs", 20, "--steps", 3000, "--rate", 0]
        finish(scene.write_runs(*options))
        with scene.start_sync(server.url) as sender:
            time.sleep(scene.random.uniform(0.02, 0.3))
            sender.kill()
        cut += sender.returncode != 0
    scene.sync(server.url)
    scene.check_equal(server)
    for folder in scene.folders():
        expected = "crashed" if folder.name.startswith("killed") else "finished"
        check(state_of(server, folder) == expected, f"{folder.name} is {state_of(server, folder)}")
    return f"{len(scene.folders())} runs, {cut} of 4 syncs cut short"


def server_frozen(scene: Scene) -> str:
    """A frozen server costs the logging side nothing, and its end a bounded wait."""
    server = scene.server("server")
    options = ["--runs", 3, "--steps", 1000, "--rate", 250]
    calm = finish(scene.write_runs("--id", "calm", *options))
    writer = scene.write_runs("--id", "frozen", "--server", server.url, "--wait", 2, *options)
    time.sleep(1)
    server.freeze()
    frozen = finish(writer)
    check("kedge sync" in frozen["errors"], f"no word of what is missing: {frozen}")
    check(frozen["log_s"] < calm["log_s"] + 0.5, f"logging took longer: {calm} {frozen}")
    check(frozen["step_us"]["p99"] < 20 * calm["step_us"]["p99"] + 200, f"{calm} {frozen}")
    check(frozen["finish_s"] < 2 + 2.5, f"the end took too long: {frozen}")
    if (scene.args.bin / "kedge-train").exists():
        begin = time.monotonic()
        trained = train(scene, server, "trained")
        took_s = time.monotonic() - begin
        check(trained.returncode == 0, f"kedge train: {trained.stderr}")
        check(took_s < 60, f"kedge train took {took_s} s")
    server.thaw()
    scene.sync(server.url)
    scene.check_equal(server)
    return f"p99 of a step {calm['step_us']['p99']:.1f} us calm, {frozen['step_us']['p99']:.1f} us"


def bad_network(scene: Scene) -> str:
    """Connections are refused, cut, reset, slowed down and hung up."""
    server = scene.server("server")
    proxy = bad_proxy.BadProxy(server.port, scene.args.seed)
    url = f"http://127.0.0.1:{proxy.port}"
    with contextlib.closing(proxy):
        options = ["--runs", 8, "--steps", 3000, "--rate", 300, "--wait", 60]
        writer = scene.write_runs("--server", url, *options)
        for number in range(5):
            options = ["--id", f"s{number}", "--runs", 4, "--steps", 2000, "--rate", 0]
            finish(scene.write_runs(*options))
            with scene.start_sync(url) as sender:
                time.sleep(2)
                sender.kill()
        proxy.behave()
        report = finish(writer)
        check("kedge sync" not in report["errors"], f"not all was pushed: {report['errors']}")
        scene.sync(url)
        scene.check_equal(server)
    return ", ".join(f"{count} {fate}" for fate, count in proxy.counts.items())


SCENARIOS = [
    three_transports,
    twice_sent,
    other_folders,
    with_tokens,
    server_killed_during_push,
    server_killed_during_sync,
    client_killed,
    server_frozen,
    bad_network,
]


def play(scenario, args: argparse.Namespace) -> bool:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-ingest-"))
    scene = Scene(args, folder)
    begin = time.monotonic()
    try:
        detail, is_fine = scenario(scene), True
    except (Failure, OSError, LookupError, RuntimeError, subprocess.SubprocessError) as failure:
        detail, is_fine = f"{type(failure).__name__}: {failure}"[:3000], False
    finally:
        scene.close()
    verdict = "ok" if is_fine else "FAILED"
    took_s = time.monotonic() - begin
    print(f"{scenario.__name__:<28} {verdict} {took_s:6.1f} s  {detail}", flush=True)
    if is_fine:
        shutil.rmtree(folder)
    else:
        print(f"    kept: {folder}")
    return is_fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    chosen = [each for each in SCENARIOS if not args.names or each.__name__ in args.names]
    if not chosen or len(chosen) < len(set(args.names)):
        parser.error(f"scenarios are: {', '.join(each.__name__ for each in SCENARIOS)}")
    results = [play(each, args) for each in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
