#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "rueda/backend/device_monitor.hpp"
#include "rueda/train/phase_timer.hpp"

namespace rueda {

/// Samples a GPU from a thread of its own for as long as it lives: once at the beginning, then in
/// every `interval`.
class DeviceWatch {
 public:
  /// Both outlive it.
  DeviceWatch(DeviceMonitor& monitor, const Stopwatch& since_start,
              std::chrono::milliseconds interval = std::chrono::seconds(1));
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  double energy_joules();
  /// Those since the last call.
  std::vector<DeviceSample> take();

 private:
  void sample();
  void run(std::chrono::milliseconds interval);

  DeviceMonitor& monitor_;
  const Stopwatch& since_start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::vector<DeviceSample> samples_;
  std::thread thread_;
};

}  // namespace rueda
