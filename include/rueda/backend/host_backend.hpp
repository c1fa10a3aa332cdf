#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "rueda/backend/backend.hpp"

namespace rueda {

/// What all backends have in common whose memory is the host's and whose work
/// is done when a call returns.
class HostBackend : public Backend {
 public:
  std::size_t free_memory() const override { return available_host_memory(); }
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
  void zero(std::span<float> values) override { std::ranges::fill(values, 0.0F); }
  void upload(std::span<float> device, std::span<const float> host) override {
    std::ranges::copy(host, device.begin());
  }
  void download(std::span<float> host, std::span<const float> device) override {
    std::ranges::copy(device, host.begin());
  }
  void finish() override {}

 protected:
  std::array<SteadyTime, kMarks> marks_{};

 private:
  std::vector<SteadyTime> ticks_;
  std::array<std::atomic<std::uint64_t>, kMostBuckets> counts_{};  ///< of announcements
  std::array<std::atomic<SteadyTime>, kMostBuckets> times_{};      ///< of the last ones
};

}  // namespace rueda
