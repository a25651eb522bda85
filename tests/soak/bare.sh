#!/usr/bin/env bash
# The commands of README and tutorials, typed on a Debian 12 that has nothing: a fresh root folder
# with an empty HOME and empty caches, a clone of the last commit, and only apt's and pip's settings
# of this machine. README's `./dev demo` and "Train something of your own", then every `sh run`
# block of README and docs/; KEDGE_BARE_TEST=1: `./dev test` too. Takes an hour on two cores and
# 10 GB below KEDGE_BARE (/var/tmp/kedge-bare), where the log and, after a failure, the root folder
# stay. Needs root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh
source tools/dev/unpack.sh

place=${KEDGE_BARE:-/var/tmp/kedge-bare}
root=$place/root
log=$place/log

if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  say "skipped: only root can make a root folder, with apt-get; as root: ./dev soak bare"
  exit 0
fi

# How this machine reaches packages: whatever a mirror or a proxy needs, and nothing else.
copy_settings() {
  local file
  rm -rf "$root"/etc/apt/sources.list "$root/etc/apt/sources.list.d"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/auth.conf \
    /etc/apt/auth.conf.d /etc/apt/keyrings /etc/resolv.conf /etc/hosts /etc/pip.conf ~/.npmrc \
    /etc/ssl/certs/ca-certificates.crt $(grep -l Acquire /etc/apt/apt.conf.d/* 2>/dev/null); do
    if [[ -e $file ]]; then
      mkdir -p "$root${file%/*}"
      cp -rT "$file" "$root$file"
    fi
  done
}

make_root() {
  (apt_install mmdebstrap)
  rm -rf "$root"
  mkdir -p "$place"
  mmdebstrap --mode=root --variant=minbase --components=main --include=ca-certificates,git \
    bookworm "$root" "$(debian_mirror)" >"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; die "no Debian 12 could be made; the whole log is $log"; }
  copy_settings
  git bundle create -q "$root/srv/kedge.bundle" HEAD
}

# inside COMMANDS: in the root folder, with namespaces of its own, so that nothing stays mounted or
# running.
inside() {
  local -a kept
  mapfile -t kept < <(env | grep -E '^(PIP_|https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY)|_CERT|CA_')
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" &&
      exec chroot "$0" env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}" bash -e -c "$1"
    ' "$root" "$1" "${kept[@]}" >>"$log" 2>&1
}

# type_in NAME COMMANDS: a line when it has ended.
type_in() {
  local start
  start=$(now)
  inside "$2" &
  report_while $! tail -n 1 "$log" ||
    { tail -n 40 "$log" >&2; die "$1 failed; the whole log is $log, the machine $root"; }
  say "$1: $(elapsed_since "$start")"
}

# The first sh block of README below a heading.
readme_block() {
  awk -v heading="## $1" '
    $0 == heading { there = 1 }
    there && /^```sh/ { inside = 1; next }
    inside && /^```/ { exit }
    inside' README.md
}

start=$(now)
make_root
say "a Debian 12 of $(du -sh "$root" | cut -f 1): $(elapsed_since "$start")"
type_in "git clone" "git clone -q /srv/kedge.bundle kedge"
demo=$(readme_block "Two commands" | grep '^\./dev demo')
own=$(readme_block "Train something of your own")
[[ -n $demo && -n $own ]] || die "README has no such blocks any more"
type_in "README, ./dev demo" "cd kedge; $demo"
type_in "README, train something of your own" "cd kedge; $own"
type_in "README and docs" "cd kedge; python3 tools/check_docs.py"
if [[ ${KEDGE_BARE_TEST:-0} == 1 ]]; then
  type_in "README, ./dev test" "cd kedge; ./dev test"
fi
rm -rf "$root"
say "all of it on a bare machine: $(elapsed_since "$start")"
