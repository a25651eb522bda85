#!/usr/bin/env bash
# What accuracy do the three real data sets reach on this machine's CPU, in how many epochs?
# Fetches the data into data/ and trains bench/accuracy/*.yaml, a few minutes each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build/bin/kedge data get mnist fashion-mnist cifar10
for config in bench/accuracy/*.yaml; do
  build/bin/kedge train "$config"
done
