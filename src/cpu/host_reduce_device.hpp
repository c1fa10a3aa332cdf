#pragma once

#include <deque>
#include <thread>
#include <vector>

#include "rueda/reduce/reduce_device.hpp"

namespace rueda::cpu {

/// The all-reduce's view of host memory. Work is done when the call returns, so every event has
/// passed already. On the thread that made it, which trains, additions are shared out to its team;
/// on another one, which works beside that team, they are not.
class HostReduceDevice final : public ReduceDevice {
 public:
  void add(std::span<float> into, std::span<const float> from) override;
  void copy(std::span<float> to, std::span<const float> from) override;
  void narrow(std::span<kernels::Bfloat16> to, std::span<const float> from,
              std::span<float> lost) override;
  void add_narrow(std::span<float> into, std::span<const kernels::Bfloat16> from) override;
  void widen(std::span<float> to, std::span<const kernels::Bfloat16> from) override;
  std::span<float> keep(std::size_t count) override { return kept_.emplace_back(count); }
  void sum_all(std::span<const float* const> from, std::span<float* const> to,
               std::size_t count) override;
  Event record() override { return {}; }
  void wait(Event) override {}
  std::span<float> scratch(std::size_t count) override;
  bool memory_is_on_host() const override { return true; }
  std::span<float> host_scratch(std::size_t count) override;
  void to_host(std::span<float> host, std::span<const float> device) override;
  void from_host(std::span<float> device, std::span<const float> host) override;

 private:
  template <class Body>
  void each_range(std::size_t count, const Body& body) const;

  const std::thread::id home_ = std::this_thread::get_id();
  std::vector<float> scratch_;
  std::vector<float> host_scratch_;
  std::deque<std::vector<float>> kept_;
};

}  // namespace rueda::cpu
