"""Golden values for BERT: scores and gradients of transformers' BertForSequenceClassification.

Needs PyTorch 2.11 and transformers 5 (developers only; the numbers are committed):
    python tools/golden/bert.py tests/fixtures/nn/bert.json

Weights and tokens are not stored: both sides make them with the same counter-based hash, weights in
the order of their names. The second text is padded behind its 7th token.
"""

import json
import sys

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification
from values import noise, numbers, weight_value

FIRST_GRADIENTS = 4
TOKENS = 12
REAL = 7  # of the second text
SMALL = {
    "model_type": "bert",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 40,
    "max_position_embeddings": 16,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "num_labels": 3,
}
CASES = {
    "bert": {},
    "gelu_new, wide norm": {"hidden_act": "gelu_new", "layer_norm_eps": 1e-5},
    "relu": {"hidden_act": "relu", "type_vocab_size": 1},
}


def golden(name, changes):
    config = AutoConfig.for_model(**{**SMALL, **changes})
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    model = model.float().eval()
    with torch.no_grad():
        for i, (key, tensor) in enumerate(sorted(model.named_parameters())):
            tensor.copy_(weight_value(key, 1000 + i, tuple(tensor.shape)))
    tokens = ((noise(1, (2, TOKENS)) + 1) / 2 * SMALL["vocab_size"]).long()
    mask = torch.ones_like(tokens)
    mask[1, REAL:] = 0
    scores = model(tokens, attention_mask=mask).logits
    (scores * noise(2, tuple(scores.shape))).sum().backward()
    return {
        "name": name,
        "config": json.loads(config.to_json_string(use_diff=False)),
        "scores": numbers(scores),
        "gradients": {
            key: {"norm": numbers(p.grad.norm())[0], "first": numbers(p.grad)[:FIRST_GRADIENTS]}
            for key, p in model.named_parameters()
        },
    }


def main():
    cases = [golden(name, changes) for name, changes in CASES.items()]
    with open(sys.argv[1], "w") as file:
        json.dump({"cases": cases}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
