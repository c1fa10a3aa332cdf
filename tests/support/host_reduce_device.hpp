#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "rueda/reduce/reduce_device.hpp"

namespace rueda::test {

inline void add_now(std::span<float> into, std::span<const float> from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

/// Host memory, and all work done at once: the simplest device there is.
class HostReduceDevice final : public ReduceDevice {
 public:
  void add(std::span<float> into, std::span<const float> from) override { add_now(into, from); }
  void copy(std::span<float> to, std::span<const float> from) override {
    std::copy(from.begin(), from.end(), to.begin());
  }
  std::span<float> keep(std::size_t count) override { return kept_.emplace_back(count); }
  Event record() override { return {}; }
  void wait(Event) override {}
  std::span<float> scratch(std::size_t count) override {
    if (count > scratch_.size()) scratch_.resize(count);
    return std::span(scratch_).first(count);
  }
  bool memory_is_on_host() const override { return true; }
  std::span<float> host_scratch(std::size_t count) override {
    if (count > host_scratch_.size()) host_scratch_.resize(count);
    return std::span(host_scratch_).first(count);
  }
  void to_host(std::span<float> host, std::span<const float> device) override {
    copy(host, device);
  }
  void from_host(std::span<float> device, std::span<const float> host) override {
    copy(device, host);
  }
  /// The most that was asked for.
  std::size_t scratch_floats() const { return scratch_.size(); }
  /// All that is kept.
  std::size_t kept_floats() const {
    std::size_t sum = 0;
    for (const auto& block : kept_) sum += block.size();
    return sum;
  }

 private:
  std::deque<std::vector<float>> kept_;
  std::vector<float> scratch_;
  std::vector<float> host_scratch_;
};

/// A device as lazy as it may be: work is done only when somebody waits for an event behind it, and
/// scratch memory is poisoned each time it is handed out. So a missing record or wait, or a read of
/// what was never received, ends in wrong sums.
class LazyReduceDevice final : public ReduceDevice {
 public:
  void add(std::span<float> into, std::span<const float> from) override {
    queue_.push_back([into, from] { add_now(into, from); });
    ++queued_;
  }
  void copy(std::span<float> to, std::span<const float> from) override {
    queue_.push_back([to, from] { std::copy(from.begin(), from.end(), to.begin()); });
    ++queued_;
  }
  void to_host(std::span<float> host, std::span<const float> device) override {
    copy(host, device);
  }
  void from_host(std::span<float> device, std::span<const float> host) override {
    copy(device, host);
  }
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override {
    queue_.push_back([=] { narrow_part(to, from, lost, 0, to.size()); });
    ++queued_;
  }
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override {
    queue_.push_back([=] { add_narrow_part(into, from, 0, into.size()); });
    ++queued_;
  }
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override {
    queue_.push_back([=] { widen_part(to, from, 0, to.size()); });
    ++queued_;
  }
  std::span<float> keep(std::size_t count) override { return kept_.emplace_back(count); }
  Event record() override { return {queued_}; }
  void wait(Event event) override {
    for (; done_ < event.id; ++done_) {
      queue_.front()();
      queue_.pop_front();
    }
  }
  std::span<float> scratch(std::size_t count) override {
    if (count > scratch_.size()) scratch_.resize(count);
    std::fill(scratch_.begin(), scratch_.end(), std::numeric_limits<float>::quiet_NaN());
    return std::span(scratch_).first(count);
  }
  bool memory_is_on_host() const override { return false; }
  std::span<float> host_scratch(std::size_t count) override {
    if (count > host_scratch_.size()) host_scratch_.resize(count);
    std::fill(host_scratch_.begin(), host_scratch_.end(), std::numeric_limits<float>::quiet_NaN());
    return std::span(host_scratch_).first(count);
  }

  std::size_t largest_scratch() const { return scratch_.size(); }

 private:
  std::deque<std::vector<float>> kept_;
  std::deque<std::function<void()>> queue_;
  std::uint64_t queued_ = 0;
  std::uint64_t done_ = 0;
  std::vector<float> scratch_;
  std::vector<float> host_scratch_;
};

}  // namespace rueda::test
