#!/usr/bin/env bash
# From a fresh clone to a trained network: installs the packages that are missing, builds rueda, makes a
# small data set and trains ResNet-20 on it with two ranks. The second time it only trains.
#
#   jobs/quickstart.sh [--ranks N] [--epochs E]
#
# Without a GPU (nvidia-smi -L) it leaves the CUDA part out and builds in build-cpu, else in build.
set -euo pipefail

usage() { sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "${BASH_SOURCE[0]}"; }

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

ranks=2
epochs=()
while [ $# -gt 0 ]; do
  case $1 in
    --ranks) whole_number "$@"; ranks=$2; shift 2 ;;
    --epochs) whole_number "$@"; epochs=(--epochs "$2"); shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done

cd "$root"
directory=build
options=()
if [[ $(nvidia-smi -L 2>/dev/null || true) != *"GPU "[0-9]* ]]; then
  directory=build-cpu
  options=(-Dcuda=disabled -Dtests=false)
fi
program=$directory/rueda

install_packages
targets=(rueda)
build "$directory" "${options[@]}"
# Does nothing if the same data set is already there.
stage data "$program" synth --out data/synth --format bin --train 5000 --test 1000 --seed 1

run=(mpirun -n "$ranks" "$program" train)
run_dir=runs/quickstart-$(date +%Y%m%d-%H%M%S)
"${run[@]}" --config jobs/recipes/quickstart.toml "${epochs[@]}" --run-dir "$run_dir"
stage report "$program" report "$run_dir" --out "$run_dir/report"
cat <<END

Where the time of a step goes: $(find "$run_dir/report" -name '*phases.png')
All tables and charts:         $run_dir/report/report.html

The program is $program. Next, for example:
  . jobs/env.sh; ${run[*]} --config jobs/recipes/quickstart.toml --epochs 10
  $program train --help
  jobs/scale.sh cpu      # how training scales on this machine, in minutes
The documents name build/rueda: jobs/setup.sh builds it, with the tests and, where nvcc is, with CUDA.
END
