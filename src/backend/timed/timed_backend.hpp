#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <sys/mman.h>

#include "backend/host_backend.hpp"
#include "backend/precision.hpp"
#include "base/clock.hpp"
#include "base/element_hash.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "model/flops.hpp"

namespace rueda::timed {

/// What the jitter of a rank is drawn from, together with the number of the micro-batch.
struct JitterSeed {
  std::uint64_t seed = 1;
  int rank = 0;
};

inline constexpr double kForwardShare = 1.0 / 3;
inline constexpr double kBackwardShare = 2.0 / 3;
inline constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

/// How much longer (above 1) or shorter micro-batch `number` of a rank takes, evenly distributed.
inline double jitter_factor(const JitterSeed& seed, std::uint64_t number, double percent) {
  const double drawn = to_unit(random_bits(seed.seed, key_of("compute jitter"), seed.rank, number));
  return 1 + percent / 100 * (2 * drawn - 1);
}

/// A backend that computes nothing: it waits for a given time, with arenas of
/// real size in host memory, so that communication and its overlap can be
/// studied with more ranks than cores. A third of the time is forward's and two
/// thirds are backward's, divided over the layers by their FLOPs, so that
/// buckets of gradients are announced when a real backward would. Parameters
/// stay as they are, gradients are zeros, losses are NaN, and there are no
/// activations and no images.
class TimedBackend : public HostBackend {
 public:
  TimedBackend(const TimedCompute& compute, const JitterSeed& jitter)
      : compute_(compute), jitter_(jitter) {}

  std::string_view name() const override { return "timed"; }
  bool offers(Precision) const override { return true; }  // it computes nothing in any
  /// What it waits for.
  std::string device() const override {
    std::string text =
        fmt::format("none: waits {:.4g} ms for {} images", compute_.seconds * 1e3, compute_.images);
    if (compute_.jitter_percent > 0) text += fmt::format(" +- {:g} %", compute_.jitter_percent);
    return text;
  }
  ReduceDevice& reduce_device() override { return adder_; }
  /// Of this memory only what is written takes room in the machine.
  Memory allocate(std::size_t bytes) override {
    const std::size_t mapped = std::max<std::size_t>(bytes, 1);
    void* place = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
      throw OutOfMemory("out of memory: " + std::to_string(bytes) +
                        " bytes in one piece were not to be had; start fewer ranks on a machine");
    }
    return {place, bytes, [mapped](std::byte* memory) { munmap(memory, mapped); }};
  }

  /// A micro-batch begins with Mark::forward.
  void mark(Mark mark) override {
    const SteadyTime moment = marks_[std::size_t(mark)] = now();
    if (mark != Mark::forward) return;
    due_ = moment;
    factor_ = jitter_factor(jitter_, ++micro_batches_, compute_.jitter_percent);
  }
  ActivationView view(const Graph&, NodeId) const override { return {}; }
  std::unique_ptr<Operation> make_operation(const NodeRequest& r) override {
    if (r.node == r.graph.input()) return nullptr;
    const auto own = double(forward_flops(r.graph, r.node));
    const double share = own / double(forward_flops(r.graph));
    const int batch = r.batch;
    // The time that was given is of the whole micro-batch, so recomputing takes none.
    return std::make_unique<SimpleOperation>(
        OperationNeeds{}, [=, this](const OperationMemory&) { work(share * kForwardShare, batch); },
        [=, this](const OperationMemory&) { work(share * kBackwardShare, batch); },
        [](const OperationMemory&) {});
  }
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
  std::unique_ptr<BatchStager> make_stager(int, std::size_t) override {
    throw InputError("--backend timed looks at no image: leave --input at resident");
  }
  std::size_t stager_bytes(int, std::size_t) const override { return 0; }
  void softmax_cross_entropy(const LossRequest& r) override { *r.sums = {kNothing, kNothing}; }
  void write_step_sums(StepSums* to, const LossSums*, std::span<const float>, float samples,
                       RankFlags* flags) override {
    *to = {.loss = kNothing, .correct = kNothing, .samples = samples, .stop = flags->stop};
  }
  void sum_gradients(const Graph&, NodeId, int, std::byte*, const std::byte*,
                     const std::byte*) override {}
  void sgd_update(std::span<float>, std::span<float>, std::span<const float>,
                  const kernels::SgdStep&) override {}
  void weigh_statistics(std::span<float>, std::span<const float>, std::span<const float>,
                        float) override {}
  void update_running(std::span<float>, std::span<const float>, float, float) override {}
  std::uint64_t hash(std::span<const float> values) override {
    return total_of<kernels::element_hash>(values);
  }
  std::uint64_t nonfinite(std::span<const float> values) override {
    return total_of<kernels::nonfinite>(values);
  }

 protected:
  // Time is the machine's, or a test's.
  virtual SteadyTime now() { return SteadyClock::now(); }
  /// Sleeps, so that more ranks than cores can wait at the same time. Returns at
  /// once if `moment` has passed.
  virtual void wait_until(SteadyTime moment) { std::this_thread::sleep_until(moment); }

 private:
  template <auto share>
  static std::uint64_t total_of(std::span<const float> values) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += share(i, values[i]);
    return sum;
  }
  /// Waits until `share` of the work of `images` images is done, too. Every
  /// piece of work has a deadline, counted from the beginning of the
  /// micro-batch, so that what one wait took too long is not added to the next.
  void work(double share, int images) {
    const double seconds = share * factor_ * compute_.seconds * images / double(compute_.images);
    due_ +=
        std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(seconds));
    wait_until(due_);
  }

  TimedCompute compute_;
  JitterSeed jitter_;
  std::uint64_t micro_batches_ = 0;
  double factor_ = 1;  ///< of the micro-batch in hand
  SteadyTime due_;     ///< when all of its work so far is done
  HostAdder<> adder_;
};

}  // namespace rueda::timed
