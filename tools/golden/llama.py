"""Golden values for Llama's family: scores and gradients of transformers itself.

Needs PyTorch 2.11 and transformers 5 (developers only; the numbers are committed):
    python tools/golden/llama.py tests/fixtures/nn/llama.json

Weights and tokens are not stored: both sides make them with the same counter-based hash, weights in
the order of their names.
"""

import json
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from values import noise, numbers, weight_value

KEEP = 40
FIRST_GRADIENTS = 4
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 40,
    "max_position_embeddings": 64,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}

CASES = {
    "llama": {"model_type": "llama", "rms_norm_eps": 1e-5},
    "llama tied, biases": {
        "model_type": "llama",
        "tie_word_embeddings": True,
        "attention_bias": True,
        "mlp_bias": True,
    },
    "llama, llama3 rope": {
        "model_type": "llama",
        "rope_parameters": {"rope_theta": 500.0, **LLAMA3},
    },
    "llama, linear rope": {
        "model_type": "llama",
        "rope_parameters": {"rope_theta": 100.0, "rope_type": "linear", "factor": 2.0},
    },
    "llama, yarn": {"model_type": "llama", "rope_parameters": {"rope_theta": 100.0, **YARN}},
    "llama, wide heads": {"model_type": "llama", "head_dim": 16, "num_key_value_heads": 1},
    "mistral, window": {"model_type": "mistral", "sliding_window": 5},
    "qwen2": {"model_type": "qwen2", "rms_norm_eps": 1e-6},
    "qwen2, window from layer 1": {
        "model_type": "qwen2",
        "use_sliding_window": True,
        "sliding_window": 4,
        "max_window_layers": 1,
    },
    "qwen3": {"model_type": "qwen3", "head_dim": 12, "tie_word_embeddings": True},
}


def golden(name, changes):
    config = AutoConfig.for_model(**{**SMALL, **changes})
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float()
    with torch.no_grad():
        for i, (key, tensor) in enumerate(sorted(model.named_parameters())):
            tensor.copy_(weight_value(key, 1000 + i, tuple(tensor.shape)))
    tokens = ((noise(1, (2, 20)) + 1) / 2 * SMALL["vocab_size"]).long()
    scores = model(tokens).logits
    (scores * noise(2, tuple(scores.shape))).sum().backward()
    return {
        "name": name,
        "config": json.loads(config.to_json_string(use_diff=False)),
        "scores": numbers(scores[0, -1]) + numbers(scores[1, :])[:KEEP],
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
