#pragma once

#include <array>
#include <optional>
#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// One quantity of a DeviceSample and how it is shown.
struct DeviceQuantity {
  const char* name;  ///< in run.json
  double DeviceSample::*value;
  const char* label;  ///< in the result table
  double unit;        ///< divides it there
};

inline constexpr std::array kDeviceQuantities = {
    DeviceQuantity{"utilization", &DeviceSample::utilization, "utilisation, %", 0.01},
    DeviceQuantity{"memory_bytes", &DeviceSample::memory_bytes, "memory, GB", 1e9},
    DeviceQuantity{"sm_clock_hz", &DeviceSample::sm_clock_hz, "SM clock, MHz", 1e6},
    DeviceQuantity{"memory_clock_hz", &DeviceSample::memory_clock_hz, "memory clock, MHz", 1e6},
    DeviceQuantity{"power_watts", &DeviceSample::power_watts, "power, W", 1},
    DeviceQuantity{"temperature_celsius", &DeviceSample::temperature_celsius, "temperature, C", 1},
};

/// Joules of all GPUs during an epoch's steps, each GPU once however many ranks share it; nothing
/// if one of them does not tell.
std::optional<double> epoch_joules(const EpochRecord& epoch, const RunRecord& run);

}  // namespace rueda
