# How the ./dev verbs talk: usage, messages, times. Sourced, never run.

# The usage of a script is the comment at its top.
print_usage() {
  sed -n '/^#!/d; /^#/!q; s/^# \{0,1\}//p' "$1"
}

say() {
  echo "dev: $*" >&2
}

die() {
  echo "dev: error: $*" >&2
  exit 1
}

usage_error() {
  echo "dev: $1 (see --help)" >&2
  exit 2
}

# Seconds since the epoch with three decimals.
now() {
  printf '%s' "${EPOCHREALTIME:0:-3}"
}

# report_while PID COMMAND...: until that process has ended, what COMMAND prints, each half minute,
# if it prints something: without a terminal nobody sees a progress bar. Returns how PID ended.
report_while() {
  local pid=$1 start said seconds=0
  shift
  start=$(now)
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
    seconds=$((seconds + 1))
    if ((seconds % (2 * ${KEDGE_REPORT_S:-30}) == 0)) && said=$("$@") && [[ -n $said ]]; then
      say "$said ($(elapsed_since "$start"))"
    fi
  done
  wait "$pid"
}

# "12.3 s" or "4 min 05 s" since a value of now().
elapsed_since() {
  awk -v a="$1" -v b="$(now)" 'BEGIN {
    s = b - a
    if (s < 100) printf "%.1f s", s
    else printf "%d min %02d s", s / 60, s % 60
  }'
}
