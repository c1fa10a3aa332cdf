#!/usr/bin/env bash
# Trains ResNet-20 on the 60,000 images of Fashion-MNIST with rueda on 1 and 2 ranks and with PyTorch, from the same
# weights and by the same recipe, and compares the test accuracies (docs/results/cpu.md).
#
#   jobs/check/real_images.sh [OPTION...]     --help shows the options of jobs/check/real_images.py
#
# Needs build/rueda. Makes what is missing: data/fashion-mnist (jobs/data.sh), and an environment with PyTorch in
# build-parity/ (some GB, by pip), unless RUEDA_TORCH_PYTHON names an interpreter. Nine trainings of two epochs took
# 50 minutes of one core. After an interruption, the same call goes on with the trainings that are missing.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case " $* " in *" --help "* | *" -h "*) exec python3 jobs/check/real_images.py --help ;; esac

# shellcheck source=jobs/env.sh
. jobs/env.sh
torch=build-parity/torch
if [ -z "${RUEDA_TORCH_PYTHON:-}" ] && [ ! -e "$torch/ready" ]; then
  python3 -m venv "$torch"
  "$torch/bin/pip" install --quiet --requirement tests/parity/requirements-torch.txt
  touch "$torch/ready"
fi
case " $* " in
  *" --data "* | *" --data="*) ;;
  *) [ -e data/fashion-mnist/test_batch.bin ] || jobs/data.sh fashion-mnist ;;
esac
exec python3 jobs/check/real_images.py "$@"
