#include "cuda/kernels/launch.cuh"

namespace rueda::cuda {
namespace {

/// y = x w^T + bias, with x (rows, inputs) and w (units, inputs).
struct DenseRows {
  float* y;
  const float* x;
  const float* w;
  const float* bias;
  std::size_t rows;
  std::size_t inputs;
  unsigned units;

  /// Units k and k + pairs() are a pair; the last may be alone.
  __host__ __device__ unsigned pairs() const { return (units + 1) / 2; }
};

/// The lanes of a warp.
struct WarpThreads {
  __device__ std::size_t first() const { return lane_of_warp(); }
  __device__ std::size_t stride() const { return kWarpLanes; }
};

/// Adds products of x with two rows of w.
struct AddProducts {
  static constexpr int kPacks = 4;
  const float* x;
  const float* w[2];
  float* sums;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    const auto left = load_packs<float, width, packs>(x, at);
    const auto right = load_packs<float, width, packs>(w[0], at);
    const auto other = load_packs<float, width, packs>(w[1], at);
    each_element<width, packs>([&](int k, int i) {
      sums[0] += left.at(k, i) * right.at(k, i);
      sums[1] += left.at(k, i) * other.at(k, i);
    });
  }
};

/// A warp has a pair of units of a row. Its lanes take inputs in turn, and are added in halves: an
/// order that the number of inputs alone decides.
__global__ void multiply_rows(DenseRows d) {
  wait_for_previous_kernel();
  const std::size_t works = d.rows * d.pairs();
  const std::size_t stride = index_stride() / kWarpLanes;
  for (std::size_t at = first_index() / kWarpLanes; at < works; at += stride) {
    const std::size_t row = at / d.pairs();
    const auto unit = unsigned(at % d.pairs());
    const unsigned other = unit + d.pairs() < d.units ? unit + d.pairs() : unit;
    float sums[2] = {};
    run_packs<1>(
        WarpThreads(), d.inputs, 0,
        AddProducts{d.x + row * d.inputs, {d.w + unit * d.inputs, d.w + other * d.inputs}, sums});
    add_lanes(sums);
    if (lane_of_warp() != 0) continue;
    float* const y = d.y + row * d.units;
    y[unit] = sums[0] + d.bias[unit];
    if (other != unit) y[other] = sums[1] + d.bias[other];
  }
}

}  // namespace

void dense_forward(float* y, const float* x, const float* w, const float* bias, std::size_t rows,
                   int inputs, int units, cudaStream_t stream) {
  if (inputs == 0 || units == 0) return;
  const DenseRows work{y, x, w, bias, rows, std::size_t(inputs), unsigned(units)};
  launch(&multiply_rows, rows * work.pairs() * kWarpLanes, stream, work);
}

}  // namespace rueda::cuda
