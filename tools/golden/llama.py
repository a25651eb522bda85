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
    "mixtral, window": {
        "model_type": "mixtral",
        "num_local_experts": 5,
        "num_experts_per_tok": 2,
        "sliding_window": 5,
    },
    "qwen2_moe, shared expert": {
        "model_type": "qwen2_moe",
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 24,
        "shared_expert_intermediate_size": 40,
    },
    "qwen3_moe, one dense layer": {
        "model_type": "qwen3_moe",
        "head_dim": 8,
        "num_experts": 4,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 24,
        "norm_topk_prob": True,
        "mlp_only_layers": [0],
    },
}
AUX_LOSS = 30.0  # its factor in what gradients are taken of


def experts_apart(name, tensor, is_mixtral):
    """Parameters under the names that files have for them."""
    folder = "block_sparse_moe" if is_mixtral else "mlp"
    own = name.replace(".mlp.", f".{folder}.")
    for i in range(tensor.shape[0]):
        start = f"{own.rsplit('.', 1)[0]}.{i}."
        if name.endswith("down_proj"):
            yield start + ("w2.weight" if is_mixtral else "down_proj.weight"), tensor[i]
        elif name.endswith("gate_up_proj"):
            gate, up = tensor[i].chunk(2)
            yield start + ("w1.weight" if is_mixtral else "gate_proj.weight"), gate
            yield start + ("w3.weight" if is_mixtral else "up_proj.weight"), up


def in_files(tensors, is_mixtral):
    for name, tensor in tensors:
        if ".mlp.experts." in name:
            yield from experts_apart(name, tensor, is_mixtral)
        else:
            yield name.replace(".mlp.", ".block_sparse_moe.") if is_mixtral else name, tensor


def golden(name, changes):
    config = AutoConfig.for_model(**{**SMALL, **changes})
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float()
    is_mixtral = config.model_type == "mixtral"
    has_experts = is_mixtral or config.model_type.endswith("_moe")
    with torch.no_grad():
        named = in_files(model.named_parameters(), is_mixtral)
        for i, (key, tensor) in enumerate(sorted(named, key=lambda pair: pair[0])):
            tensor.copy_(weight_value(key, 1000 + i, tuple(tensor.shape)))
    tokens = ((noise(1, (2, 20)) + 1) / 2 * SMALL["vocab_size"]).long()
    answer = model(tokens, output_router_logits=True) if has_experts else model(tokens)
    scores = answer.logits
    loss = (scores * noise(2, tuple(scores.shape))).sum()
    if has_experts:
        loss = loss + AUX_LOSS * answer.aux_loss
    loss.backward()
    gradients = in_files(((key, p.grad) for key, p in model.named_parameters()), is_mixtral)
    return {
        "name": name,
        "config": json.loads(config.to_json_string(use_diff=False)),
        "scores": numbers(scores[0, -1]) + numbers(scores[1, :])[:KEEP],
        "gradients": {
            key: {"norm": numbers(grad.norm())[0], "first": numbers(grad)[:FIRST_GRADIENTS]}
            for key, grad in gradients
        },
        **({"aux_loss": numbers(answer.aux_loss)[0]} if has_experts else {}),
    }


def main():
    cases = [golden(name, changes) for name, changes in CASES.items()]
    with open(sys.argv[1], "w") as file:
        json.dump({"cases": cases}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
