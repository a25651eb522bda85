#!/usr/bin/env python3
"""Mixtures of experts go between kedge and transformers, and train there as here.

Small Mixtral, Qwen2-MoE and Qwen3-MoE models with random weights, of bytes: kedge reads the folders
that transformers writes (in shards, an expert a tensor, or all experts in one), gives the same
likelihoods, trains to the same losses with the balance of the experts among them, and writes a
folder that transformers reads. Needs $KEDGE_PEER_PYTHON's packages.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build/bin")).resolve()

TEXT = "A kedge is a small anchor that a ship hauls itself up to, again and again. " * 6
CONTEXT = 24
BATCH = 4
RATE = 0.05
AUX_LOSS = 0.5
SMALL = {
    "vocab_size": 256,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "num_experts_per_tok": 2,
    "initializer_range": 0.2,
    "router_aux_loss_coef": AUX_LOSS,
    "output_router_logits": True,
    "bos_token_id": None,
    "eos_token_id": None,
}
QWEN = {"num_experts": 6, "moe_intermediate_size": 24}
FAMILIES = {
    "mixtral": {"num_local_experts": 4, "sliding_window": 12},
    "qwen2_moe": {**QWEN, "shared_expert_intermediate_size": 40},
    "qwen3_moe": {**QWEN, "head_dim": 8, "norm_topk_prob": True, "mlp_only_layers": [0]},
}


class MoeTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "text.txt").write_text(TEXT)
        (self.folder / "config.yaml").write_text("{}\n")

    def kedge(self, *words: str) -> str:
        done = subprocess.run(
            [BIN / "kedge", *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def make(self, family: str):
        torch.manual_seed(1)
        config = transformers.AutoConfig.for_model(family, **{**SMALL, **FAMILIES[family]})
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
        with torch.no_grad():  # routers of Qwen's begin at zero
            for name, tensor in model.named_parameters():
                if name.endswith(".gate.weight"):
                    tensor.normal_(std=0.5)
        return model.float()

    def losses(self, name: str) -> list[float]:
        rows = csv.DictReader(io.StringIO(self.kedge("runs", "export", f"runs/default/{name}")))
        return [float(row["value"]) for row in rows if row["key"] == "train/step_loss"]

    def log_likelihood(self, folder: str) -> float:
        report = self.kedge("eval", folder, "--text", "text.txt", "--context", "64", "--json")
        return json.loads(report)["log_likelihood"]

    def train(self, family: str):
        self.kedge(
            "train",
            f"run.id={family}",
            f"model.file={family}",
            "data.name=text",
            "data.path=text.txt",
            "data.val_ratio=0",
            f"data.context={CONTEXT}",
            f"loader.batch_size={BATCH}",
            "loader.shuffle=false",
            "loader.drop_last=true",
            "optimizer.name=sgd",
            "optimizer.momentum=0",
            "optimizer.weight_decay=0",
            f"optimizer.lr={RATE}",
            "train.epochs=2",
            "train.device=cpu",
            "train.threads=1",
            "train.precision=fp32",
            "train.log_every=1",
        )

    def peer_losses(self, model) -> tuple[list[float], list[float]]:
        ids = torch.tensor(list(TEXT.encode()))
        windows = ids.unfold(0, CONTEXT + 1, CONTEXT)
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        losses, balances = [], []
        for _ in range(2):
            for at in range(0, len(windows) - BATCH + 1, BATCH):
                batch = windows[at : at + BATCH]
                answer = model(batch[:, :-1])
                own = torch.nn.functional.cross_entropy(
                    answer.logits.flatten(0, 1), batch[:, 1:].flatten()
                )
                loss = own + AUX_LOSS * answer.aux_loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                balances.append(answer.aux_loss.item())
        return losses, balances

    def test_every_family_goes_both_ways(self):
        for family in FAMILIES:
            with self.subTest(family):
                model = self.make(family)
                model.save_pretrained(self.folder / family, max_shard_size="40KB")
                self.assertGreater(len(list((self.folder / family).glob("*.safetensors"))), 1)
                model.save_pretrained(self.folder / "fused", save_original_format=False)
                apart = self.log_likelihood(family)
                self.assertEqual(self.log_likelihood("fused"), apart)
                self.train(family)
                wanted, balances = self.peer_losses(model)
                got = self.losses(family)
                self.assertEqual(len(got), len(wanted))
                for mine, theirs in zip(got, wanted, strict=True):
                    self.assertAlmostEqual(mine, theirs, delta=2e-4 * abs(theirs))
                rows = (self.folder / f"runs/default/{family}/metrics.csv").read_text()
                last = list(csv.DictReader(io.StringIO(rows)))[-1]
                half = balances[len(balances) // 2 :]
                self.assertAlmostEqual(
                    float(last["train/aux_loss"]), sum(half) / len(half), delta=1e-3
                )
                self.kedge("export", f"runs/default/{family}", "out", "--format", "hf")
                back = transformers.AutoModelForCausalLM.from_pretrained(self.folder / "out")
                ids = torch.tensor([list(TEXT.encode()[:60])])
                with torch.no_grad():
                    difference = (back(ids).logits - model(ids).logits).abs().max().item()
                self.assertLess(difference, 2e-3)
                shutil.rmtree(self.folder / "out")


if __name__ == "__main__":
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"moe_test.py: skipped: {error}")
        sys.exit(0)
    transformers.logging.set_verbosity_error()
    unittest.main()
