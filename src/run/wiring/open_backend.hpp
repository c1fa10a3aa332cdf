#pragma once

#include <memory>
#include <string>

#include "backend/timed/jitter.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Whether a run with this choice is to train on a GPU, if one is here. Asks
/// the driver only where the choice leaves it open.
bool wants_cuda(BackendChoice choice);

struct BackendOptions {
  BackendChoice choice = BackendChoice::automatic;
  Precision precision = Precision::fp32;
  int threads = 1;              ///< of the cpu backend
  bool deterministic = false;   ///< of the cuda backend, as are the next two
  bool tune = false;            ///< times engines for what `use_engines` does not name
  std::string plan_cache = {};  ///< folder of compiled plans; empty: none
  TimedCompute compute = {};    ///< of the timed backend, as is the next
  timed::JitterSeed jitter = {};
};

/// What `config` says of the backend, but for the timed one.
BackendOptions options_of(const TrainConfig& config, int threads);

/// Throws InputError for a backend that is not available here, or that cannot
/// compute in the precision.
std::unique_ptr<Backend> open_backend(const BackendOptions& options);

/// Watches the GPU with this UUID; null without a GPU (an empty UUID), or where NVML is missing.
std::unique_ptr<DeviceMonitor> open_monitor(const std::string& uuid);

}  // namespace rueda
