#!/usr/bin/env bash
# Every kind of training comes to the same, bit for bit, as with an older program: KEDGE_OLD names
# its kedge, or KEDGE_REF a commit, which is built in a worktree under build/identity/. Without
# either the program is compared with itself: it trains the same twice. See
# tests/identity/compare.py (KEDGE_ONLY: only rows whose name has this text).
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Builds a commit, unless that was done, and prints where its kedge is.
build_commit() {
  local commit folder
  commit=$(git rev-parse --verify --short=12 "$1^{commit}")
  folder=$PWD/build/identity/$commit
  git worktree prune
  [[ -d $folder ]] || git worktree add --quiet --detach "$folder" "$commit" >&2
  mkdir -p "$folder/build"
  # The same libtorch, or the numbers are another library's.
  [[ -s $folder/build/torch-kind ]] || cp build/torch-kind "$folder/build/torch-kind"
  (cd "$folder" && ./dev build >&2)
  echo "$folder/build/bin/kedge"
}

old=${KEDGE_OLD:-build/bin/kedge}
if [[ -n ${KEDGE_REF:-} ]]; then
  old=$(build_commit "$KEDGE_REF")
fi
exec python3 tests/identity/compare.py "$old" build/bin/kedge --only "${KEDGE_ONLY:-}"
