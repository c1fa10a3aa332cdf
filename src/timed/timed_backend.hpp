#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "rueda/backend/backend.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/reduce/host_adder.hpp"

namespace rueda::timed {

using Time = std::chrono::steady_clock::time_point;

/// Where time comes from: the machine's, or a test's.
class Timepiece {
 public:
  virtual ~Timepiece() = default;
  virtual Time now() = 0;
  /// Returns at once if `moment` has passed.
  virtual void wait_until(Time moment) = 0;
};

/// Sleeps, so that more ranks than cores can wait at the same time.
class SteadyTimepiece final : public Timepiece {
 public:
  Time now() override { return std::chrono::steady_clock::now(); }
  void wait_until(Time moment) override { std::this_thread::sleep_until(moment); }
};

/// What the jitter of a rank is drawn from, together with the number of the micro-batch.
struct JitterSeed {
  std::uint64_t seed = 1;
  int rank = 0;
};

/// How much longer (above 1) or shorter micro-batch `number` of a rank takes, evenly distributed.
double jitter_factor(const JitterSeed& seed, std::uint64_t number, double percent);

/// The course of a micro-batch. Every piece of work has a deadline, counted
/// from the beginning of the micro-batch, so that what one wait took too long
/// is not added to the next.
class Schedule {
 public:
  /// Keeps `timepiece`, which outlives it.
  Schedule(Timepiece& timepiece, const TimedCompute& compute, const JitterSeed& jitter)
      : timepiece_(timepiece), compute_(compute), jitter_(jitter) {}

  /// Waits until `share` of the work of `images` images is done, too.
  void work(double share, int images);
  /// A micro-batch begins with Mark::forward.
  void mark(Mark mark);
  ComputeSeconds seconds() const { return marks_.seconds(); }

 private:
  Timepiece& timepiece_;
  TimedCompute compute_;
  JitterSeed jitter_;
  std::uint64_t micro_batches_ = 0;
  double factor_ = 1;  ///< of the micro-batch in hand
  Time due_;           ///< when all of its work so far is done
  HostMarks marks_;
};

/// A backend that computes nothing: it waits for a given time, with arenas of
/// real size in host memory, so that communication and its overlap can be
/// studied with more ranks than cores. A third of the time is forward's and two
/// thirds are backward's, divided over the layers by their FLOPs, so that
/// buckets of gradients are announced when a real backward would. Parameters
/// stay as they are, gradients are zeros, losses are NaN, and there are no
/// activations and no images.
class TimedBackend : public HostBackend {
 public:
  TimedBackend(const TimedCompute& compute, const JitterSeed& jitter,
               std::unique_ptr<Timepiece> timepiece = std::make_unique<SteadyTimepiece>());

  std::string_view name() const override { return "timed"; }
  /// What it waits for.
  std::string device() const override;
  ReduceDevice& reduce_device() override { return adder_; }
  Memory allocate(std::size_t bytes) override;

  void mark(Mark mark) override { schedule_.mark(mark); }
  ComputeSeconds compute_seconds() override { return schedule_.seconds(); }
  ActivationView view(const Graph&, NodeId) const override { return {}; }
  std::unique_ptr<Operation> make_operation(const Graph& graph, NodeId node, int batch,
                                            Mode mode) override;
  std::size_t packed_bytes() const override { return 0; }
  std::size_t scratch_bytes() const override { return 0; }
  void forget_plans() override {}
  void bind_parameters(const Graph&, const ParameterMemory&) override {}
  void pack_parameters() override {}

  std::unique_ptr<DeviceImages> hold(const ImageSet&) override {
    return std::make_unique<DeviceImages>();
  }
  void make_batch(const BatchRequest&, std::byte*, std::int32_t*) override {}
  /// Throws InputError: there is no input to stream.
  std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) override;
  std::size_t stager_bytes(int, std::size_t) const override { return 0; }
  void softmax_cross_entropy(const LossRequest& request) override;
  void write_step_sums(StepSums* to, const LossSums* sums, std::span<const float> statistics,
                       float samples, RankFlags* flags) override;
  void sum_gradients(const Graph&, NodeId, int, std::byte*, const std::byte*,
                     const std::byte*) override {}
  void sgd_update(std::span<float>, std::span<float>, std::span<const float>,
                  const kernels::SgdStep&) override {}
  void weigh_statistics(std::span<float>, std::span<const float>, std::span<const float>,
                        float) override {}
  void update_running(std::span<float>, std::span<const float>, float, float) override {}
  std::uint64_t hash(std::span<const float> values) override;

 private:
  TimedCompute compute_;
  std::unique_ptr<Timepiece> timepiece_;
  Schedule schedule_;
  HostAdder adder_;
};

}  // namespace rueda::timed
