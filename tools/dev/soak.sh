# Usage: ./dev soak [--list] [NAME...]
#
# Builds and runs the proofs that take long: tests/soak/NAME (a script), one after the other;
# all of them when none is named. --list prints the names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/scripts.sh

run_scripts soak tests/soak "$@"
