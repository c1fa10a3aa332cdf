#pragma once

#include <memory>
#include <string>

#include "rueda/backend/device_monitor.hpp"

namespace rueda {

/// The monitor of the GPU with this UUID ("GPU-8f2c..."), by NVIDIA's management library, which is
/// looked for at run time only. By its UUID, because the library counts all GPUs of the machine,
/// whatever CUDA_VISIBLE_DEVICES says. Null where there is no such library or GPU.
std::unique_ptr<DeviceMonitor> open_nvml(const std::string& uuid);

}  // namespace rueda
