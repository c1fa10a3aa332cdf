#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "base/clock.hpp"
#include "base/split.hpp"
#include "launch/machine.hpp"
#include "reduce/host_sums.hpp"
#include "rueda/backend/backend.hpp"
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
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from) override {
    share_(to.size(), [=](Range r) { narrow_part(to, from, r.begin, r.end); });
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
};

/// What all backends have in common whose memory is the host's and whose work
/// is done when a call returns.
class HostBackend : public Backend {
 public:
  std::size_t free_memory() const override { return available_host_memory(); }
  void zero(std::span<float> values) override { std::ranges::fill(values, 0.0F); }
  void upload(std::span<float> device, std::span<const float> host) override {
    std::ranges::copy(host, device.begin());
  }
  void download(std::span<float> host, std::span<const float> device) override {
    std::ranges::copy(device, host.begin());
  }
  void finish() override {}

  void mark(Mark mark) override { marks_[std::size_t(mark)] = SteadyClock::now(); }
  ComputeSeconds compute_seconds() override {
    const auto between = [this](Mark from, Mark to) {
      return seconds_between(marks_[std::size_t(from)], marks_[std::size_t(to)]);
    };
    return {0, between(Mark::forward, Mark::loss), between(Mark::loss, Mark::backward),
            between(Mark::backward, Mark::end)};
  }
  void tick() override { ticks_.push_back(SteadyClock::now()); }
  std::vector<double> take_ticks() override {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < ticks_.size(); ++i)
      gaps.push_back(seconds_between(ticks_[i - 1], ticks_[i]));
    ticks_.clear();
    return gaps;
  }

  void announce(std::size_t bucket) override {
    times_.at(bucket).store(SteadyClock::now(), std::memory_order_relaxed);
    counts_.at(bucket).fetch_add(1, std::memory_order_release);
    counts_.at(bucket).notify_all();
  }
  std::uint64_t announced(std::size_t bucket) const override {
    return counts_.at(bucket).load(std::memory_order_acquire);
  }
  /// Sleeps meanwhile.
  SteadyTime wait_announced(std::size_t bucket, std::uint64_t count) const override {
    for (std::uint64_t seen = announced(bucket); seen < count; seen = announced(bucket))
      counts_.at(bucket).wait(seen, std::memory_order_acquire);
    return times_.at(bucket).load(std::memory_order_relaxed);
  }

 protected:
  std::array<SteadyTime, kMarks> marks_{};

 private:
  std::vector<SteadyTime> ticks_;
  std::array<std::atomic<std::uint64_t>, kMostBuckets> counts_{};  ///< of announcements
  std::array<std::atomic<SteadyTime>, kMostBuckets> times_{};      ///< of the last ones
};

}  // namespace rueda
