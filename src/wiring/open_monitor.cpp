#include "open_monitor.hpp"

#if RUEDA_WITH_CUDA
#include "cuda/device/nvml.hpp"
#endif

namespace rueda {

std::unique_ptr<DeviceMonitor> open_monitor(const std::string& uuid) {
#if RUEDA_WITH_CUDA
  if (!uuid.empty()) return open_nvml(uuid);
#else
  static_cast<void>(uuid);
#endif
  return nullptr;
}

}  // namespace rueda
