#include "host_reduce_device.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace rueda::cpu {

void HostReduceDevice::add(std::span<float> into, std::span<const float> from) {
  float* a = into.data();
  const float* b = from.data();
  parallel_elements(into.size(), [=](std::size_t i) { a[i] = a[i] + b[i]; });
}

void HostReduceDevice::copy(std::span<float> to, std::span<const float> from) {
  std::copy(from.begin(), from.end(), to.begin());
}

std::span<float> HostReduceDevice::scratch(std::size_t count) {
  if (scratch_.size() < count) scratch_.resize(count);
  return {scratch_.data(), count};
}

}  // namespace rueda::cpu
