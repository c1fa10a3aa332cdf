#!/usr/bin/env bash
# Builds rueda and compares the times of its training steps with those of PyTorch and Keras. They take turns
# on the same cores. The machine should have nothing else to do. docs/bench.md says more.
#
#   jobs/bench_frameworks.sh [OPTION...]     --help shows the options of tests/bench/frameworks.py
#
# RUEDA_TORCH_PYTHON and RUEDA_KERAS_PYTHON name the Python interpreters that have the frameworks. The
# default are those that jobs/check/parity.sh makes in build-parity/.
set -euo pipefail

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

case " $* " in *" --help "* | *" -h "*) exec python3 -EB "$root/tests/bench/frameworks.py" --help ;; esac

install_packages
targets=(rueda)
build build >&2
exec python3 -EB "$root/tests/bench/frameworks.py" --binary "$root/build/rueda" "$@"
