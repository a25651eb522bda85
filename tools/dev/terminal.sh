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

# "12.3 s" or "4 min 05 s" since a value of now().
elapsed_since() {
  awk -v a="$1" -v b="$(now)" 'BEGIN {
    s = b - a
    if (s < 100) printf "%.1f s", s
    else printf "%d min %02d s", s / 60, s % 60
  }'
}
