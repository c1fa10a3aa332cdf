#pragma once

#include <memory>
#include <string>

#include "rueda/backend/device_monitor.hpp"

namespace rueda {

/// What watches the GPU with this UUID; null without a GPU (an empty UUID), or where nothing tells.
std::unique_ptr<DeviceMonitor> open_monitor(const std::string& uuid);

}  // namespace rueda
