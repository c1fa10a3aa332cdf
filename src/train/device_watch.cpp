#include "rueda/train/device_watch.hpp"

#include <utility>

namespace rueda {

DeviceWatch::DeviceWatch(DeviceMonitor& monitor, const Stopwatch& since_start,
                         std::chrono::milliseconds interval)
    : monitor_(monitor), since_start_(since_start) {
  sample();  // here, so that a run of less than an interval has one too
  thread_ = std::thread([this, interval] { run(interval); });
}

DeviceWatch::~DeviceWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void DeviceWatch::run(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ends_; })) sample();
}

/// The lock is held, or no other thread is there yet.
void DeviceWatch::sample() {
  DeviceSample sample = monitor_.sample();
  sample.seconds = since_start_.seconds();
  samples_.push_back(sample);
}

double DeviceWatch::energy_joules() {
  const std::lock_guard lock(mutex_);
  return monitor_.energy_joules();
}

std::vector<DeviceSample> DeviceWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(samples_, {});
}

}  // namespace rueda
