# Usage: ./dev bench [--list] [NAME...]
#
# Builds and runs the measurements bench/NAME (a script), one after the other; all of them when
# none is named. --list prints the names. bench/README.md says what each asks, what it needs
# (some compare with PyTorch) and what was found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/scripts.sh

run_scripts bench bench "$@"
