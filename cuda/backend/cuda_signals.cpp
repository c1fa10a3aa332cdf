#include <atomic>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RUEDA_WITH_NVTX 1
#else
#define RUEDA_WITH_NVTX 0
#endif

#include "cuda/backend/cuda_backend_class.hpp"
#include "cuda/kernels/kernels.hpp"

namespace rueda::cuda {

void CudaBackend::begin_range([[maybe_unused]] const char* name) {
#if RUEDA_WITH_NVTX
  nvtxRangePushA(name);
#endif
}

void CudaBackend::end_range() {
#if RUEDA_WITH_NVTX
  nvtxRangePop();
#endif
}

void CudaBackend::tick() {
  if (++ticked_ > ticks_.size()) ticks_.push_back(make_timing_event());
  check(cudaEventRecord(ticks_[ticked_ - 1].get(), stream()), "cudaEventRecord");
}

std::vector<double> CudaBackend::take_ticks() {
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  std::vector<double> gaps;
  for (std::size_t i = 1; i < ticked_; ++i)
    gaps.push_back(seconds_between(ticks_[i - 1].get(), ticks_[i].get()));
  ticked_ = 0;
  return gaps;
}

void CudaBackend::announce(std::size_t bucket) {
  count_up(static_cast<std::uint64_t*>(counts_.get()), announcements(), bucket, stream());
}

std::uint64_t CudaBackend::announced(std::size_t bucket) const {
  return std::atomic_ref(announcements()[bucket]).load(std::memory_order_acquire);
}

}  // namespace rueda::cuda
