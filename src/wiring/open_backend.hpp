#pragma once

#include <map>
#include <memory>
#include <string>

#include "rueda/backend/backend.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/train/config.hpp"
#include "timed/timed_backend.hpp"

namespace rueda {

/// Whether a run with this choice is to train on a GPU, if one is here. Asks the driver only where
/// the choice leaves it open.
bool wants_cuda(BackendChoice choice);

struct BackendOptions {
  BackendChoice choice = BackendChoice::automatic;
  Precision precision = Precision::fp32;
  int threads = 1;             ///< of the cpu backend
  bool deterministic = false;  ///< of the cuda backend, as is the next
  bool tune = false;           ///< times engines for what `use_engines` does not name
  TimedCompute compute = {};   ///< of the timed backend, as is the next
  timed::JitterSeed jitter = {};
};

/// Throws InputError for a backend that is not available here, or that cannot compute in the
/// precision.
std::unique_ptr<Backend> open_backend(const BackendOptions& options);

/// Sets the engines of a tuning file, by the work that they do, for all that is planned from now
/// on. Not for the cpu backend.
void use_engines(Backend& backend, const std::map<std::string, std::string>& engines);

/// What the operations planned so far compute with; empty on the cpu backend.
std::map<std::string, std::string> engines_in_use(const Backend& backend);

/// Watches the GPU with this UUID; null without a GPU (an empty UUID), or where NVML is missing.
std::unique_ptr<DeviceMonitor> open_monitor(const std::string& uuid);

}  // namespace rueda
