#include "open_backend.hpp"

#include <string>

#include "rueda/core/error.hpp"
#if RUEDA_WITH_CPU
#include "../cpu/cpu_backend.hpp"
#endif
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

#if RUEDA_WITH_CPU
std::unique_ptr<Backend> open_cpu(Precision precision, int threads) {
  return std::make_unique<cpu::CpuBackend>(
      cpu::CpuOptions{.threads = threads, .layout = {}, .precision = precision});
}
#else
std::unique_ptr<Backend> open_cpu(Precision, int) {
  throw InputError(
      "--backend cpu: this build has no CPU backend (-Dcpu=disabled, or oneDNN was not found); "
      "build "
      "with oneDNN and without -Dcpu=disabled, or use --backend cuda");
}
#endif

}  // namespace

std::unique_ptr<Backend> open_backend(BackendChoice choice, Precision precision, int threads) {
  if (choice == BackendChoice::cuda) {
    throw InputError("--backend cuda: " + why_no_cuda() + "; use --backend cpu or auto");
  }
  return open_cpu(precision, threads);
}

}  // namespace rueda
