#!/usr/bin/env bash
# Ten minutes of each fuzzer (KEDGE_FUZZ_S: other seconds): no crash, hang, leak or overflow in any
# reader of files. See tests/fuzz/run.sh.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../fuzz/run.sh" --seconds "${KEDGE_FUZZ_S:-600}"
