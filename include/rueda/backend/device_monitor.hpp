#pragma once

#include <limits>

namespace rueda {

/// How a GPU is at one moment; NaN: it does not tell. Plain bytes: gathered over ranks as it is.
struct DeviceSample {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double seconds = kUnknown;              ///< since the program began
  double utilization = kUnknown;          ///< share of the time in which a kernel ran, 0 to 1
  double memory_bytes = kUnknown;         ///< in use, by all processes
  double sm_clock_hz = kUnknown;          ///< of the processors
  double memory_clock_hz = kUnknown;      ///< of the memory
  double power_watts = kUnknown;          ///< of the whole board
  double temperature_celsius = kUnknown;  ///< of the chip
};

/// What a GPU tells about itself while others compute on it. Any thread may
/// call, one at a time. Nothing here is an error: what cannot be read is NaN.
class DeviceMonitor {
 public:
  virtual ~DeviceMonitor() = default;
  /// Joules that the GPU has taken since some moment before the program, for all processes.
  virtual double energy_joules() = 0;
  /// All but `seconds`.
  virtual DeviceSample sample() = 0;
};

}  // namespace rueda
