#include "open_backend.hpp"

#include "rueda/core/error.hpp"
#if RUEDA_WITH_CPU
#include "cpu/cpu_backend.hpp"
#endif
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#endif
#if RUEDA_CUDA_TRAINS
#include "cuda/backend/cuda_backend.hpp"
#endif

namespace rueda {
namespace {

#if RUEDA_WITH_CPU
std::unique_ptr<Backend> open_cpu(const BackendOptions& o) {
  return std::make_unique<cpu::CpuBackend>(
      cpu::CpuOptions{.threads = o.threads, .layout = {}, .precision = o.precision});
}
#else
std::unique_ptr<Backend> open_cpu(const BackendOptions&) {
  throw InputError(
      "--backend cpu: this build has no CPU backend (-Dcpu=disabled, or oneDNN was not found); "
      "build with oneDNN and without -Dcpu=disabled, or use --backend cuda");
}
#endif

#if RUEDA_CUDA_TRAINS
bool has_cuda_device() { return !cuda_devices().devices.empty(); }

std::unique_ptr<Backend> open_cuda(const BackendOptions& o) {
  const auto found = cuda_devices();
  if (found.devices.empty()) {
    throw InputError("--backend cuda: no CUDA device here (" + found.reason +
                     "); use --backend cpu or auto");
  }
  return cuda::make_cuda_backend({o.precision, o.deterministic, o.tune});
}
#else
bool has_cuda_device() { return false; }

std::unique_ptr<Backend> open_cuda(const BackendOptions&) {
  throw InputError(
#if RUEDA_WITH_CUDA
      "--backend cuda: this build has CUDA, but cuDNN 9 or cuBLAS was not found when it was built"
#else
      "--backend cuda: this build has no CUDA part (-Dcuda=disabled, or nvcc was not found)"
#endif
      "; use --backend cpu or auto");
}
#endif

}  // namespace

bool wants_cuda(BackendChoice choice) {
  if (choice != BackendChoice::automatic) return choice == BackendChoice::cuda;
  return has_cuda_device();
}

std::unique_ptr<Backend> open_backend(const BackendOptions& options) {
  if (options.choice == BackendChoice::timed) {
    return std::make_unique<timed::TimedBackend>(options.compute, options.jitter);
  }
  return wants_cuda(options.choice) ? open_cuda(options) : open_cpu(options);
}

void use_engines(Backend& backend, const std::map<std::string, std::string>& engines) {
#if RUEDA_CUDA_TRAINS
  cuda::plan_store(backend)->use(engines);
#else
  static_cast<void>(backend);
  static_cast<void>(engines);
#endif
}

std::map<std::string, std::string> engines_in_use(const Backend& backend) {
#if RUEDA_CUDA_TRAINS
  if (const auto* store = cuda::plan_store(backend)) return store->engines();
#endif
  static_cast<void>(backend);
  return {};
}

std::unique_ptr<DeviceMonitor> open_monitor(const std::string& uuid) {
#if RUEDA_WITH_CUDA
  if (!uuid.empty()) return open_nvml(uuid);
#else
  static_cast<void>(uuid);
#endif
  return nullptr;
}

}  // namespace rueda
