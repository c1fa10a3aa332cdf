#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// The reduce device of host memory, for one thread. Work is done when the call
/// returns, so every event has passed already.
class HostAdder : public ReduceDevice {
 public:
  void add(std::span<float> into, std::span<const float> from) override {
    float* a = into.data();
    const float* b = from.data();
    const std::size_t count = into.size();
    for (std::size_t i = 0; i < count; ++i) a[i] = a[i] + b[i];
  }
  void copy(std::span<float> to, std::span<const float> from) override {
    std::copy(from.begin(), from.end(), to.begin());
  }
  std::span<float> keep(std::size_t count) override { return kept_.emplace_back(count); }
  Event record() override { return {}; }
  void wait(Event) override {}
  std::span<float> scratch(std::size_t count) override { return grown(scratch_, count); }
  bool memory_is_on_host() const override { return true; }
  std::span<float> host_scratch(std::size_t count) override { return grown(host_, count); }
  void to_host(std::span<float> host, std::span<const float> device) override {
    copy(host, device);
  }
  void from_host(std::span<float> device, std::span<const float> host) override {
    copy(device, host);
  }

 private:
  static std::span<float> grown(std::vector<float>& memory, std::size_t count) {
    if (memory.size() < count) memory.resize(count);
    return {memory.data(), count};
  }

  std::vector<float> scratch_;
  std::vector<float> host_;
  std::deque<std::vector<float>> kept_;
};

}  // namespace rueda
