#include "host_reduce_device.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace rueda::cpu {

void HostReduceDevice::add(std::span<float> into, std::span<const float> from) {
  float* a = into.data();
  const float* b = from.data();
  if (std::this_thread::get_id() == home_) {
    parallel_elements(into.size(), [=](std::size_t i) { a[i] = a[i] + b[i]; });
  } else {
    for (std::size_t i = 0; i < into.size(); ++i) a[i] = a[i] + b[i];
  }
}

void HostReduceDevice::copy(std::span<float> to, std::span<const float> from) {
  std::copy(from.begin(), from.end(), to.begin());
}

std::span<float> HostReduceDevice::scratch(std::size_t count) {
  if (scratch_.size() < count) scratch_.resize(count);
  return {scratch_.data(), count};
}

std::span<float> HostReduceDevice::host_scratch(std::size_t count) {
  if (host_scratch_.size() < count) host_scratch_.resize(count);
  return {host_scratch_.data(), count};
}

void HostReduceDevice::to_host(std::span<float> host, std::span<const float> device) {
  copy(host, device);
}

void HostReduceDevice::from_host(std::span<float> device, std::span<const float> host) {
  copy(device, host);
}

}  // namespace rueda::cpu
