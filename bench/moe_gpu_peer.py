"""transformers' Mixtral on this machine's GPU, in the layout of bench/llm_gpu.py's full-moe.

    python3 bench/moe_gpu_peer.py [--steps 12] [--compile]

Random weights and tokens, pure bf16, fused AdamW, grouped products of the experts (transformers'
experts_implementation "grouped_mm"): tokens per second of the median step, and peak memory.
"""

import argparse
import statistics
import time

import torch
from transformers import MixtralConfig, MixtralForCausalLM

BATCH = 8
CONTEXT = 2048
LAYOUT = {
    "num_hidden_layers": 16,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "intermediate_size": 2816,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 49152,
    "max_position_embeddings": CONTEXT,
    "output_router_logits": True,
    "router_aux_loss_coef": 0.01,
    "use_cache": False,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    config = MixtralConfig(**LAYOUT)
    config._experts_implementation = "grouped_mm"
    with torch.device("cuda"):
        model = MixtralForCausalLM(config).to(torch.bfloat16)
    step_model = torch.compile(model) if arguments.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(LAYOUT["vocab_size"], (BATCH, CONTEXT), device="cuda")
    seconds = []
    for _ in range(arguments.steps):
        begin = time.perf_counter()
        step_model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    speed = BATCH * CONTEXT / statistics.median(seconds[len(seconds) // 3 :])
    memory = torch.cuda.max_memory_allocated() / 2**30
    print(f"transformers Mixtral: {speed:,.0f} tokens/s, {memory:.1f} GiB")


if __name__ == "__main__":
    main()
