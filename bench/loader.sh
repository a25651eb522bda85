#!/usr/bin/env bash
# What does a sample cost the loader? See loader.cc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/dev/build.sh bench_loader
exec build/bin/bench_loader
