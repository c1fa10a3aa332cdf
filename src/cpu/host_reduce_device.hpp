#pragma once

#include <thread>

#include "rueda/reduce/host_adder.hpp"

namespace rueda::cpu {

/// On the thread that made it, which trains, additions are shared out to its team; on another one,
/// which works beside that team, they are not.
class HostReduceDevice final : public HostAdder {
 public:
  void add(std::span<float> into, std::span<const float> from) override;
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override;
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override;
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override;
  std::uint64_t check_sum(std::span<const float> values) override;
  void sum_all(std::span<const float* const> from, std::span<float* const> to,
               std::size_t count) override;

 private:
  /// work(range) for ranges that together are all below `count`.
  template <class Work>
  void share_out(std::size_t count, const Work& work) const;

  const std::thread::id home_ = std::this_thread::get_id();
};

}  // namespace rueda::cpu
