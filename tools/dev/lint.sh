# Usage: ./dev lint [--fix] [--all | --no-tidy]
#
# Formatting (clang-format), layers (tools/check_layers.py), style (tools/check_style.py) of
# everything; clang-tidy of the files changed in the working tree and in the last commit
# (tests are left out: the macros of GoogleTest take clang-tidy a minute a file and say nothing).
#
#   --fix       rewrite the formatting instead of complaining
#   --all       clang-tidy on every file (many minutes)
#   --no-tidy   without clang-tidy
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh

fix=0
tidy=changed
while (($#)); do
  case $1 in
    -h | --help) print_usage tools/dev/lint.sh; exit 0 ;;
    --fix) fix=1 ;;
    --all) tidy=all ;;
    --no-tidy) tidy=none ;;
    *) usage_error "lint: unknown option '$1'" ;;
  esac
  shift
done

failed=0

# report NAME COMMAND...: one line when it passes, its output when not.
report() {
  local name=$1 start output
  shift
  start=$(now)
  if output=$("$@" 2>&1); then
    printf '%-8s ok      %s\n' "$name" "$(elapsed_since "$start")"
  else
    printf '%s\n' "$output"
    printf '%-8s FAILED  %s\n' "$name" "$(elapsed_since "$start")"
    failed=1
  fi
}

source_files() {
  git ls-files -co --exclude-standard -- '*.cc' '*.h' | while read -r file; do
    [[ ! -f $file ]] || echo "$file"
  done
}

check_format() {
  local tool
  tool=$(find_clang_tool clang-format) || return 1
  if ((fix)); then
    source_files | xargs -r "$tool" -i
  else
    source_files | xargs -r "$tool" --dry-run --Werror
  fi
}

changed_files() {
  { git diff --name-only HEAD; git ls-files -o --exclude-standard;
    git diff --name-only HEAD~1 HEAD 2>/dev/null || true; } |
    sort -u | grep -E '^src/.*\.cc$' | grep -v '_test\.cc$' |
    while read -r file; do
      [[ ! -f $file ]] || echo "$file"
    done
}

# The build compiles several files at once; tools and editors want a command for each.
write_commands() {
  [[ -f build/CMakeCache.txt ]] || { echo "run ./dev build first"; return 1; }
  local options
  mapfile -t options < <(sed -n 's/^\(KEDGE_[A-Z]*\):[A-Z]*=/-D\1=/p' build/CMakeCache.txt)
  cmake -S . -B build/apart -G Ninja "${options[@]}" -DKEDGE_UNITE=OFF >build/apart.log 2>&1 ||
    { tail -n 20 build/apart.log; return 1; }
}

check_tidy() {
  local tool files
  tool=$(find_clang_tool clang-tidy) || return 1
  write_commands || return 1
  if [[ $tidy == all ]]; then
    files=$(source_files | grep '\.cc$' | grep -v '_test\.cc$')
  else
    files=$(changed_files) || true
  fi
  python3 tools/dev/run_tidy.py "$tool" build/apart/compile_commands.json $files
}

report format check_format
report layers python3 tools/check_layers.py
report style python3 tools/check_style.py
if [[ $tidy != none ]]; then
  report tidy check_tidy
fi
exit $failed
