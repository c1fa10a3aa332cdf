#!/usr/bin/env bash
# From a fresh clone to a trained network: installs the packages that are missing, builds rueda, gets photographs
# of clothes (Fashion-MNIST), trains ResNet-20 on 10,000 of them with two ranks and scores it on 10,000 others.
# Where the photographs cannot be had it takes synthetic images. The second time it only trains.
#
#   jobs/quickstart.sh [--ranks N] [--epochs E]
#
# Without a GPU (nvidia-smi -L) it builds build/rueda without CUDA and without tests; jobs/setup.sh and jobs/test.sh
# add both.
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
program=build/rueda
options=()
[[ $(nvidia-smi -L 2>/dev/null || true) == *"GPU "[0-9]* ]] || options=("${small[@]}")

install_packages
targets=(rueda)
build build "${options[@]}"

# Both leave a set alone that is already there.
if stage images jobs/data.sh fashion-mnist data; then
  data=data/fashion-mnist
else
  data=data/synth
  echo "Trains on synthetic images in place of the photographs."
  stage synth "$program" synth --out "$data" --format bin --train 10000 --test 1000 --seed 1
fi

run=(mpirun -n "$ranks" "$program")
recipe=(--config jobs/recipes/quickstart.toml --data "$data")
run_dir=runs/quickstart-$(date +%Y%m%d-%H%M%S)
confusion=$run_dir/confusion.png
"${run[@]}" train "${recipe[@]}" "${epochs[@]}" --run-dir "$run_dir"
stage evaluate "${run[@]}" evaluate --init-weights "$run_dir" --json "$run_dir/evaluation.json" --plot "$confusion"
stage report "$program" report "$run_dir" --out "$run_dir/report"
cat <<END

Trained on $data; on its test images, which the training has not seen:
$(grep '^accuracy ' "$logs/evaluate.log")

Which class was taken for which: $confusion
Where the time of a step goes:   $(find "$run_dir/report" -name '*phases.png')
All tables and charts:           $run_dir/report/report.html

The program is $program. Next, for example:
  . jobs/env.sh; ${run[*]} train ${recipe[*]} --epochs 10
  $program train --help
  jobs/scale.sh cpu      # how training scales on this machine, in minutes
END
