#include "kernels.hpp"
#include "launch.cuh"

// What goes over a wire of bf16. One float per thread: the wire is slower than any of this.

namespace rueda::cuda {
namespace {

using kernels::Bfloat16;

struct NarrowWire {
  Bfloat16* to;
  const float* from;
  float* lost;

  __device__ void operator()(std::size_t i) const {
    to[i] = lost == nullptr ? kernels::from_float<Bfloat16>(from[i])
                            : kernels::narrow_with_feedback(from[i], lost[i]);
  }
};

struct AddWire {
  float* into;
  const Bfloat16* from;

  __device__ void operator()(std::size_t i) const {
    into[i] = into[i] + kernels::to_float(from[i]);
  }
};

struct WidenWire {
  float* to;
  const Bfloat16* from;

  __device__ void operator()(std::size_t i) const { to[i] = kernels::to_float(from[i]); }
};

}  // namespace

cudaError_t narrow_wire(Bfloat16* to, const float* from, float* lost, std::size_t count,
                        cudaStream_t stream) {
  return for_each(count, NarrowWire{to, from, lost}, stream);
}

cudaError_t add_wire(float* into, const Bfloat16* from, std::size_t count, cudaStream_t stream) {
  return for_each(count, AddWire{into, from}, stream);
}

cudaError_t widen_wire(float* to, const Bfloat16* from, std::size_t count, cudaStream_t stream) {
  return for_each(count, WidenWire{to, from}, stream);
}

}  // namespace rueda::cuda
