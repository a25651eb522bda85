"""How fast does kedge tokenize, beside Hugging Face's tokenizers and tiktoken?

    python3 bench/tokenizer_speed.py build/bin/kedge [--megabytes 20] [--rounds 5] [--threads 1,2]

Same machine, same texts, in turns; medians and the spread of the rounds. kedge is timed as users
run it: the whole command `kedge data tokenize`, with its start, reading the vocabulary, reading
JSONL and writing files. The peers are timed inside Python with the vocabulary loaded and the texts
in memory, and only while they encode (encode_batch_fast, encode_ordinary_batch) with so many
threads. Vocabularies and texts come as in tests/tokenizers/parity.py, whose packages it needs.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "tokenizers"))
import parity  # noqa: E402

PAIRS = (("cl100k_base", "tiktoken"), ("gpt2", "tokenizers"), ("llama3_1", "tokenizers"),
         ("qwen3", "tokenizers"), ("llama2", "tokenizers"))  # fmt: skip
TEXTS = ("english", "code", "cjk")


def time_peer(path: pathlib.Path, records: pathlib.Path, threads: int) -> float:
    """In a process of its own: Rayon reads its number of threads once."""
    done = subprocess.run(
        [sys.executable, __file__, "--peer", path, records, str(threads)],
        env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
        check=True, stdout=subprocess.PIPE, text=True)  # fmt: skip
    return float(done.stdout)


def run_peer(path: pathlib.Path, records: pathlib.Path, threads: int) -> None:
    texts = [json.loads(line)["text"] for line in records.read_text().split("\n") if line]
    make = parity.openai if path.suffix == ".tiktoken" else parity.hugging_face
    encode = make(path, threads)
    encode(texts[:2])
    start = time.perf_counter()
    encode(texts)
    print(time.perf_counter() - start)


def time_kedge(kedge: str, path: pathlib.Path, records: pathlib.Path, threads: int) -> float:
    with tempfile.TemporaryDirectory() as work:
        start = time.perf_counter()
        subprocess.run(
            [kedge, "data", "tokenize", records, "--tokenizer", path, "--end", "none",
             "--out", f"{work}/out", "--threads", str(threads)],
            check=True, stderr=subprocess.DEVNULL)  # fmt: skip
        return time.perf_counter() - start


def measure(options, path: pathlib.Path, records: pathlib.Path, threads: int) -> tuple:
    """Seconds of each round: kedge's, the peer's."""
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(time_kedge(options.kedge, path, records, threads))
        theirs.append(time_peer(path, records, threads))
    return ours, theirs


def show(megabytes: float, seconds: list[float]) -> str:
    rates = sorted(megabytes / second for second in seconds)
    return f"{statistics.median(rates):6.1f} ({rates[0]:.1f} to {rates[-1]:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kedge")
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}")
    default = pathlib.Path.home() / ".cache" / "kedge" / "tokenizers"
    parser.add_argument("--cache", type=pathlib.Path, default=default)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    found = parity.peers(options.cache)
    print("MB/s, median (spread)  threads  kedge, whole command      peer, encoding only")
    with tempfile.TemporaryDirectory() as work:
        for name in TEXTS:
            parts = parity.documents(
                parity.TEXTS[name](options.cache)[: int(options.megabytes * 1e6)]
            )
            texts = [part.decode("utf-8", "replace") for part in parts]
            megabytes = sum(len(text.encode()) for text in texts) / 1e6
            records = pathlib.Path(work) / f"{name}.jsonl"
            lines = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
            records.write_text("".join(lines))
            for tokenizer, peer in PAIRS:
                for threads in map(int, options.threads.split(",")):
                    if tokenizer in found:
                        ours, theirs = measure(options, found[tokenizer][0], records, threads)
                        print(f"{name:8} {tokenizer:12} {threads:7}  {show(megabytes, ours):24}"
                              f"  {show(megabytes, theirs):24} {peer}", flush=True)  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        run_peer(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
