#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "backend/host_backend.hpp"
#include "backend/host_batch.hpp"
#include "backend/timed/jitter.hpp"
#include "base/clock.hpp"
#include "kernels/sgd.hpp"
#include "rueda/backend/precision.hpp"

namespace rueda::timed {

inline constexpr double kForwardShare = 1.0 / 3;
inline constexpr double kBackwardShare = 2.0 / 3;

/// A backend that computes nothing: it waits for a given time, with arenas of
/// real size in host memory, so that communication and its overlap can be
/// studied with more ranks than cores. A third of the time is forward's and two
/// thirds are backward's, divided over the layers by their FLOPs, so that
/// buckets of gradients are announced when a real backward would. Parameters
/// stay as they are, gradients are zeros, losses are NaN, and there are no
/// activations and no images. Arenas are hardly written.
class TimedBackend : public HostBackend {
 public:
  TimedBackend(const TimedCompute& compute, const JitterSeed& jitter)
      : compute_(compute), jitter_(jitter) {}

  std::string_view name() const override { return "timed"; }
  bool offers(Precision) const override { return true; }  // it computes nothing in any
  /// What it waits for.
  std::string device() const override;
  ReduceDevice& reduce_device() override { return adder_; }

  /// A micro-batch begins with Mark::forward.
  void mark(Mark mark) override;
  ActivationView view(const Graph&, NodeId) const override { return {}; }
  std::unique_ptr<Operation> make_operation(const NodeRequest& r) override;
  std::size_t packed_bytes() const override { return 0; }
  std::size_t scratch_bytes() const override { return 0; }
  void forget_plans() override {}
  void bind_parameters(const Graph&, const ParameterMemory&) override {}
  void pack_parameters() override {}
  void sum_gradients(const Graph&, NodeId, int, std::byte*, const std::byte*,
                     const std::byte*) override {}

  /// Of this memory only what is written takes room in the machine.
  Memory allocate(std::size_t bytes) override;
  void softmax_cross_entropy(const LossRequest& r) override;
  void write_step_sums(StepSums* to, const LossSums*, std::span<const float>, float samples,
                       RankFlags* flags) override;
  void sgd_update(std::span<float>, std::span<float>, std::span<const float>,
                  const kernels::SgdStep&) override {}
  void lars_update(const LarsSlice&, const kernels::LarsStep&) override {}
  void weigh_statistics(std::span<float>, std::span<const float>, std::span<const float>,
                        float) override {}
  void update_running(std::span<float>, std::span<const float>, float, float) override {}
  std::uint64_t hash(std::span<const float> values) override;
  std::uint64_t nonfinite(std::span<const float> values) override;
  void square_sums(std::span<const float>, std::span<const std::size_t>,
                   std::span<double> to) override {
    std::ranges::fill(to, 0.0);  // gradients are zeros, and arenas are not read
  }

  void write_part_squares(StepSums*, std::span<const double>, float, RankFlags*) override {}

  /// Every batch is there at once.
  std::unique_ptr<DeviceImages> hold(const ImageSet&) override;
  void make_batch(const BatchRequest&, std::byte*, std::int32_t*) override {}
  /// Throws InputError: there is no input to stream.
  std::unique_ptr<BatchStager> make_stager(int, std::size_t) override;
  std::size_t stager_bytes(int, std::size_t) const override { return 0; }

 protected:
  // Time is the machine's, or a test's.
  virtual SteadyTime now() { return SteadyClock::now(); }
  /// Sleeps, so that more ranks than cores can wait at the same time. Returns at
  /// once if `moment` has passed.
  virtual void wait_until(SteadyTime moment) { std::this_thread::sleep_until(moment); }

 private:
  /// Waits until `share` of the work of `images` images is done, too. Every
  /// piece of work has a deadline, counted from the beginning of the
  /// micro-batch, so that what one wait took too long is not added to the next.
  void work(double share, int images);

  TimedCompute compute_;
  JitterSeed jitter_;
  std::uint64_t micro_batches_ = 0;
  double factor_ = 1;  ///< of the micro-batch in hand
  SteadyTime due_;     ///< when all of its work so far is done
  HostAdder<> adder_;
};

}  // namespace rueda::timed
