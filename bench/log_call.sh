#!/usr/bin/env bash
# How long does a log call keep the trainer? See log_call.cc. As root, also with a disk that takes
# nothing: an ext4 in a file, frozen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash tools/dev/build.sh bench_log_call
program=$PWD/build/bin/bench_log_call
if [ $# -gt 0 ] || [ "$(id -u)" -ne 0 ]; then
  exec "$program" "$@"
fi
folder=$(mktemp -d)
trap 'umount "$folder/disk" 2>/dev/null; rm -rf "$folder"' EXIT
truncate -s 256M "$folder/image"
mkfs.ext4 -q "$folder/image"
mkdir "$folder/disk"
mount -o loop "$folder/image" "$folder/disk"
"$program" "$folder/disk" --freeze
