#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "parallel.hpp"
#include "rueda/reduce/host_adder.hpp"

namespace rueda::cpu {

/// On the thread that made it, which trains, additions are shared out to its
/// team; on another one, which works at the same time, they are not.
class HostReduceDevice final : public HostAdder {
 public:
  void add(std::span<float> into, std::span<const float> from) override {
    share_out(into.size(), [=, this](Range r) {
      HostAdder::add(into.subspan(r.begin, r.size()), from.subspan(r.begin, r.size()));
    });
  }
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override {
    share_out(to.size(), [=](Range r) { narrow_part(to, from, lost, r.begin, r.end); });
  }
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override {
    share_out(into.size(), [=](Range r) { add_narrow_part(into, from, r.begin, r.end); });
  }
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override {
    share_out(to.size(), [=](Range r) { widen_part(to, from, r.begin, r.end); });
  }
  std::uint64_t check_sum(std::span<const float> values) override {
    std::atomic<std::uint64_t> sum{0};
    share_out(values.size(), [=, &sum](Range r) { sum += check_part(values, r.begin, r.end); });
    return sum;
  }
  void sum_all(std::span<const float* const> from, std::span<float* const> to,
               std::size_t count) override {
    share_out(count, [=](Range part) {
      std::vector<const float*> sources(from.begin(), from.end());
      std::vector<float*> targets(to.begin(), to.end());
      for (auto& source : sources) source += part.begin;
      for (auto& target : targets) target += part.begin;
      tree_sum(sources, targets, part.size());
    });
  }

 private:
  /// work(range) for ranges that together are all below `count`.
  template <class Work>
  void share_out(std::size_t count, const Work& work) const {
    if (std::this_thread::get_id() == home_)
      parallel_ranges(count, work);
    else
      work(Range{0, count});
  }

  const std::thread::id home_ = std::this_thread::get_id();
};

}  // namespace rueda::cpu
