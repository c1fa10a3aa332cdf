#include <cmath>

#include "cuda/kernels/columns.cuh"
#include "kernels/softmax_loss.hpp"

namespace rueda::cuda {
namespace {

/// One block: a few thousand rows at most.
__global__ void add_losses(const kernels::RowLoss* losses, std::size_t rows, float* sums) {
  wait_for_previous_kernel();
  __shared__ double shared[2][kBlockThreads];
  double loss = 0;
  double correct = 0;
  for (std::size_t row = threadIdx.x; row < rows; row += kBlockThreads) {
    loss += losses[row].loss;
    correct += losses[row].correct ? 1.0 : 0.0;
  }
  shared[0][threadIdx.x] = loss;
  shared[1][threadIdx.x] = correct;
  for (unsigned half = kBlockThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    shared[0][threadIdx.x] += shared[0][threadIdx.x + half];
    shared[1][threadIdx.x] += shared[1][threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  sums[0] = float(shared[0][0]);
  sums[1] = float(shared[1][0]);
}

/// Blocks count what they find in a second counter; the last of them writes.
__global__ void write_sums(float* to, const float* sums, const float* statistics, std::size_t count,
                           float samples, float* flags, SumScratch* scratch) {
  wait_for_previous_kernel();
  bool bad = !std::isfinite(sums[0]);
  const std::size_t first = std::size_t(blockIdx.y) * kBlockThreads + threadIdx.x;
  each_value(statistics, count, first, std::size_t(gridDim.y) * kBlockThreads,
             [&](std::size_t, float value) { bad |= !std::isfinite(value); });
  if (bad) atomicAdd(scratch->arrived + 1, 1U);
  if (!is_last_of_columns(scratch->arrived) || threadIdx.x != 0) return;
  const bool found = atomicAdd(scratch->arrived + 1, 0U) != 0;
  scratch->arrived[1] = 0;
  if (found) flags[0] = 1.0F;
  to[0] = sums[0];
  to[1] = sums[1];
  to[2] = samples;
  to[3] = found ? 1.0F : 0.0F;
  to[4] = flags[1];
  to[5] = to[6] = 0.0F;
}

/// Only a write goes over the bus, for which no thread waits. The fence is for
/// all that earlier kernels have written; the end of the kernel needs none.
__global__ void add_one(std::uint64_t* counts, std::uint64_t* seen, std::size_t slot) {
  wait_for_previous_kernel();
  const std::uint64_t count = counts[slot] + 1;
  counts[slot] = count;
  __threadfence_system();
  *static_cast<volatile std::uint64_t*>(seen + slot) = count;
}

}  // namespace

void sum_losses(const kernels::RowLoss* losses, std::size_t rows, float* sums,
                cudaStream_t stream) {
  launch(&add_losses, kBlockThreads, stream, losses, rows, sums);
}

void write_step_sums(float* to, const float* sums, const float* statistics, std::size_t count,
                     float samples, float* flags, SumScratch* scratch, cudaStream_t stream) {
  const dim3 grid(1, unsigned(std::min<std::size_t>(count / (4 * kBlockThreads) + 1, 64)));
  launch_blocks(&write_sums, grid, dim3(kBlockThreads), stream, to, sums, statistics, count,
                samples, flags, scratch);
}

void count_up(std::uint64_t* counts, std::uint64_t* seen, std::size_t slot, cudaStream_t stream) {
  launch_blocks(&add_one, dim3(1), dim3(1), stream, counts, seen, slot);
}

/// One thread a row: rows are many and classes few.
void softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::size_t rows,
                           int classes, float smoothing, const float* scale, float* gradients,
                           kernels::RowLoss* losses, cudaStream_t stream) {
  const auto one_row = [=] __device__(std::size_t row) {
    const std::size_t first = row * std::size_t(classes);
    losses[row] = kernels::softmax_cross_entropy_row(
        logits + first, classes, labels[row], smoothing, gradients == nullptr ? 0.0F : *scale,
        gradients == nullptr ? nullptr : gradients + first);
  };
  for_each(classes == 0 ? 0 : rows, one_row, stream);
}

}  // namespace rueda::cuda
