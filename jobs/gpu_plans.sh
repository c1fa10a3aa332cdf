#!/usr/bin/env bash
# Has cuDNN plan every convolution of every model for an A100, an H100 and an H200, without a GPU, and writes
# tests/cuda/cudnn_plans.txt, which a test compares. Takes some minutes.
#
#   jobs/gpu_plans.sh [BUILD]          an existing build with CUDA and cuDNN [build]
#   RUEDA_PLAN_CACHE=DIR jobs/gpu_plans.sh    also writes the plans there that cuDNN compiled
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build}
ninja -C "$build" tests/cuda/cuda tests/cuda/libcuda.so.1
rm -f "$build/cudnn_plans.txt"
LD_LIBRARY_PATH=$build/tests/cuda RUEDA_PLANS_TABLE=$build/cudnn_plans.txt "$build/tests/cuda/cuda" '[.all-plans]'
mv "$build/cudnn_plans.txt" tests/cuda
