#include "cuda/backend/cuda_signals.hpp"

#include <atomic>
#include <cstring>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RUEDA_WITH_NVTX 1
#else
#define RUEDA_WITH_NVTX 0
#endif

#include "cuda/kernels/kernels.hpp"

namespace rueda::cuda {

void CudaClocks::begin_range([[maybe_unused]] const char* name) {
#if RUEDA_WITH_NVTX
  nvtxRangePushA(name);
#endif
}

void CudaClocks::end_range() {
#if RUEDA_WITH_NVTX
  nvtxRangePop();
#endif
}

void CudaClocks::tick() {
  if (++ticked_ > ticks_.size()) ticks_.push_back(make_timing_event());
  check(cudaEventRecord(ticks_[ticked_ - 1].get(), stream()), "cudaEventRecord");
}

std::vector<double> CudaClocks::take_ticks() {
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  std::vector<double> gaps;
  for (std::size_t i = 1; i < ticked_; ++i)
    gaps.push_back(seconds_between(ticks_[i - 1].get(), ticks_[i].get()));
  ticked_ = 0;
  return gaps;
}

CudaAnnouncements::CudaAnnouncements(Context& context) : context_(context) {
  check(cudaMemsetAsync(counts_.get(), 0, kCounters, stream()), "cudaMemsetAsync");
  std::memset(announcements_.get(), 0, kCounters);
}

void CudaAnnouncements::announce(std::size_t bucket) {
  context_.packed.unpack_gradients(context_.parameters.gradients.data(), stream());
  count_up(static_cast<std::uint64_t*>(counts_.get()), announcements(), bucket, stream());
}

std::uint64_t CudaAnnouncements::announced(std::size_t bucket) const {
  return std::atomic_ref(announcements()[bucket]).load(std::memory_order_acquire);
}

}  // namespace rueda::cuda
