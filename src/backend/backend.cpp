#include "rueda/backend/backend.hpp"

#include <algorithm>
#include <thread>

#include "rueda/core/machine.hpp"

namespace rueda {
namespace {

// A device cannot wake a thread. Far below the time of a bucket on the wire, and rare enough to
// leave the core to others.
constexpr std::chrono::microseconds kLook{20};

}  // namespace

std::chrono::steady_clock::time_point Backend::wait_announced(std::size_t bucket,
                                                              std::uint64_t count) const {
  while (announced(bucket) < count) std::this_thread::sleep_for(kLook);
  return std::chrono::steady_clock::now();
}

std::size_t HostBackend::free_memory() const { return available_host_memory(); }

HostAnnouncements::Time HostBackend::wait_announced(std::size_t bucket, std::uint64_t count) const {
  announcements_.wait(bucket, count);
  return announcements_.time(bucket);
}

void HostBackend::zero(std::span<float> values) { std::fill(values.begin(), values.end(), 0.0F); }

void HostBackend::upload(std::span<float> device, std::span<const float> host) {
  std::copy(host.begin(), host.end(), device.begin());
}

void HostBackend::download(std::span<float> host, std::span<const float> device) {
  std::copy(device.begin(), device.end(), host.begin());
}

}  // namespace rueda
