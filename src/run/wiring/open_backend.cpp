#include "run/wiring/open_backend.hpp"

#include "backend/timed/timed_backend.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "cuda/device/device_query.hpp"
#if RUEDA_WITH_CPU
#include "cpu/cpu_backend.hpp"
#endif
#if RUEDA_CUDA_TRAINS
#include "cuda/backend/cuda_backend.hpp"
#endif

namespace rueda {
namespace {

#if RUEDA_WITH_CPU
std::unique_ptr<Backend> open_cpu(const BackendOptions& o) {
  return cpu::make_cpu_backend({.threads = o.threads, .precision = o.precision});
}
#else
std::unique_ptr<Backend> open_cpu(const BackendOptions&) {
  throw InputError(
      "--backend cpu: this build has no CPU backend (-Dcpu=disabled, or oneDNN was not found); "
      "build with oneDNN and without -Dcpu=disabled, or use --backend cuda");
}
#endif

#if RUEDA_CUDA_TRAINS
/// Empty: none is given.
void check_folder(const std::string& option, const std::string& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return;
  const std::string why = error ? error.message() : "it is no folder";
  throw InputError(option + " " + printable(folder) + ": " + why +
                   "; give a folder that is there, or make it first");
}

bool has_cuda_device() { return !cuda_devices().visible.empty(); }

std::unique_ptr<Backend> open_cuda(const BackendOptions& o) {
  const auto found = cuda_devices();
  require(!found.visible.empty(),
          "--backend cuda: no CUDA device here (" + found.reason + "); use --backend cpu or auto");
  check_folder("--plan-cache", o.plan_cache);
  return cuda::make_cuda_backend({o.precision, o.deterministic, o.tune, o.plan_cache});
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

BackendOptions options_of(const TrainConfig& config, int threads) {
  BackendOptions options;
  options.choice = config.device.backend;
  options.precision = config.device.precision;
  options.threads = threads;
  options.deterministic = config.device.deterministic;
  options.plan_cache = config.device.plan_cache;
  return options;
}

std::unique_ptr<Backend> open_backend(const BackendOptions& options) {
  if (options.choice == BackendChoice::timed)
    return std::make_unique<timed::TimedBackend>(options.compute, options.jitter);
  return wants_cuda(options.choice) ? open_cuda(options) : open_cpu(options);
}

std::unique_ptr<DeviceMonitor> open_monitor([[maybe_unused]] const std::string& uuid) {
#if RUEDA_WITH_CUDA
  if (!uuid.empty()) return open_nvml(uuid);
#endif
  return nullptr;
}

}  // namespace rueda
