#!/usr/bin/env bash
# How long does a log call keep the trainer? See log_call.cc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/dev/build.sh bench_log_call
build/bin/bench_log_call "$@"
