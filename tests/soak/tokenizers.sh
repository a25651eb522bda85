#!/usr/bin/env bash
# 10 MB each (KEDGE_TOKENIZER_MB: another number) of English, code, Chinese and Japanese, emoji and
# broken text through every tokenizer that packages carry: all ids equal to those of Hugging Face's
# tokenizers and tiktoken. KEDGE_PEER_PYTHON must have tokenizers, tiktoken and numpy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
"${KEDGE_PEER_PYTHON:-python3}" tests/tokenizers/parity.py build/bin/kedge \
  --megabytes "${KEDGE_TOKENIZER_MB:-10}"
