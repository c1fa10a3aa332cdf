#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <vector>

#include "rueda/core/split.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// Leaves all work to the calling thread.
struct Unshared {
  void operator()(std::size_t count, const auto& work) const { work(Range{0, count}); }
};

/// The reduce device of host memory. Work is done when the call returns, so
/// every event has passed already. `Share` is called with a number of elements
/// and work(range), which it calls for ranges that together are all below.
template <class Share = Unshared>
class HostAdder final : public ReduceDevice {
 public:
  void add(std::span<float> into, std::span<const float> from) override {
    share_(into.size(), [a = into.data(), b = from.data()](Range r) {
      for (std::size_t i = r.begin; i < r.end; ++i) a[i] = a[i] + b[i];
    });
  }
  void copy(std::span<float> to, std::span<const float> from) override {
    std::copy(from.begin(), from.end(), to.begin());
  }
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override {
    share_(to.size(), [=](Range r) { narrow_part(to, from, lost, r.begin, r.end); });
  }
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override {
    share_(into.size(), [=](Range r) { add_narrow_part(into, from, r.begin, r.end); });
  }
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override {
    share_(to.size(), [=](Range r) { widen_part(to, from, r.begin, r.end); });
  }
  std::uint64_t check_sum(std::span<const float> values) override {
    std::atomic<std::uint64_t> sum{0};
    share_(values.size(), [=, &sum](Range r) { sum += check_part(values, r.begin, r.end); });
    return sum;
  }
  void sum_all(std::span<const float* const> from, std::span<float* const> to,
               std::size_t count) override {
    share_(count, [=](Range part) { tree_sum(from, to, part); });
  }
  std::span<float> keep(std::size_t count) override { return kept_.emplace_back(count); }
  Event record() override { return {}; }
  void wait(Event) override {}
  std::span<float> scratch(std::size_t count) override { return grown(scratch_, count); }
  bool memory_is_on_host() const override { return true; }
  std::span<float> host_scratch(std::size_t count) override { return grown(host_, count); }

 private:
  static std::span<float> grown(std::vector<float>& memory, std::size_t count) {
    if (memory.size() < count) memory.resize(count);
    return {memory.data(), count};
  }

  Share share_;
  std::vector<float> scratch_;
  std::vector<float> host_;
  std::deque<std::vector<float>> kept_;
};

}  // namespace rueda
