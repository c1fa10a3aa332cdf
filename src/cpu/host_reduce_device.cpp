#include "host_reduce_device.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace rueda::cpu {

/// By this thread's team, or by the calling one alone, where it is another.
template <class Body>
void HostReduceDevice::each_range(std::size_t count, const Body& body) const {
  if (std::this_thread::get_id() == home_) {
    parallel_ranges(count, body);
  } else {
    body(Range{0, count});
  }
}

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

void HostReduceDevice::narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
                              std::span<float> lost) {
  each_range(to.size(), [=](Range r) { narrow_part(to, from, lost, r.begin, r.end); });
}

void HostReduceDevice::add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) {
  each_range(into.size(), [=](Range r) { add_narrow_part(into, from, r.begin, r.end); });
}

void HostReduceDevice::widen(std::span<float> to, std::span<const kernels::Bfloat16> from) {
  each_range(to.size(), [=](Range r) { widen_part(to, from, r.begin, r.end); });
}

void HostReduceDevice::sum_all(std::span<const float* const> from, std::span<float* const> to,
                               std::size_t count) {
  each_range(count, [&](Range part) {
    std::vector<const float*> sources(from.begin(), from.end());
    std::vector<float*> targets(to.begin(), to.end());
    for (auto& source : sources) source += part.begin;
    for (auto& target : targets) target += part.begin;
    tree_sum(sources, targets, part.size());
  });
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
