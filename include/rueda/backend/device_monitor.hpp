#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>

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

/// Joules; NaN: unknown. A rank of which another one counts the host has 0 for
/// it. Plain bytes: gathered over ranks as it is.
struct Energy {
  double gpus = DeviceSample::kUnknown, hosts = DeviceSample::kUnknown;
  double images = 0;  ///< that were trained on with it

  /// Of what is known; `includes` names it.
  double total() const { return std::isnan(hosts) ? gpus : hosts + (std::isnan(gpus) ? 0 : gpus); }
  const char* includes() const {
    if (std::isnan(hosts)) return std::isnan(gpus) ? "nothing" : "GPUs";
    return std::isnan(gpus) ? "hosts" : "GPUs and hosts";
  }
  Energy operator+(Energy b) const { return {gpus + b.gpus, hosts + b.hosts, images + b.images}; }
  Energy operator-(Energy b) const { return {gpus - b.gpus, hosts - b.hosts, images - b.images}; }
};

/// What a GPU, or a host, tells about itself while others compute on it. Any
/// thread may call, one at a time. Nothing here is an error: what cannot be
/// read is NaN.
class DeviceMonitor {
 public:
  virtual ~DeviceMonitor() = default;
  /// Joules that it has taken since some moment before the program, for all processes.
  virtual double energy_joules() = 0;
  /// All but `seconds`.
  virtual DeviceSample sample() = 0;
};

/// The energy of this host's processors and memory: RAPL's counters, as Linux's
/// Power Capping Framework shows them (Documentation/power/powercap in the
/// kernel) below `tree`; null: below /sys/class/powercap. Unknown, without
/// a word, where there are none. They wrap, so they have to be read every few
/// minutes; `sample` does it, too. If one cannot be read or shows nonsense, the
/// log says so, and all is unknown from then on.
std::unique_ptr<DeviceMonitor> open_host_monitor(const char* tree);

}  // namespace rueda
