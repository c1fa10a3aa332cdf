#include "open_backend.hpp"

#include <string>

#include "../cpu/cpu_backend.hpp"
#include "rueda/core/error.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device_query.hpp"
#endif

namespace rueda {
namespace {

std::string why_no_cuda() {
#if RUEDA_WITH_CUDA
  const auto found = cuda_devices();
  if (found.devices.empty()) return "no CUDA device here (" + found.reason + ")";
  return "this version trains on the cpu backend only, although a CUDA device is here";
#else
  return "this build has no CUDA part (-Dcuda=disabled, or nvcc was not found)";
#endif
}

/// Whether `--backend auto` prefers a GPU: not before there is a backend that trains on one.
constexpr bool kPrefersCuda = false;

bool has_cuda_device() {
#if RUEDA_WITH_CUDA
  return !cuda_devices().devices.empty();
#else
  return false;
#endif
}

}  // namespace

bool wants_cuda(BackendChoice choice) {
  if (choice != BackendChoice::automatic) return choice == BackendChoice::cuda;
  return kPrefersCuda && has_cuda_device();
}

std::unique_ptr<Backend> open_backend(BackendChoice choice, Precision precision, int threads) {
  if (choice == BackendChoice::cuda) {
    throw InputError("--backend cuda: " + why_no_cuda() + "; use --backend cpu or auto");
  }
  return std::make_unique<cpu::CpuBackend>(
      cpu::CpuOptions{.threads = threads, .layout = {}, .precision = precision});
}

}  // namespace rueda
