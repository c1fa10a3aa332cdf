#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/clock.hpp"
#include "base/core_time.hpp"
#include "base/waiting.hpp"
#include "rueda/backend/batch_stager.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/backend/lars_slice.hpp"
#include "rueda/backend/memory.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/model/work.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

namespace kernels {
struct SgdStep;   // kernels/sgd.hpp
struct LarsStep;  // kernels/lars.hpp
}  // namespace kernels
struct BatchRequest;  // backend/host_batch.hpp

/// Sums over the rows of one batch.
struct LossSums {
  float loss = 0;
  float correct = 0;
};

/// Softmax cross entropy over `rows` rows of `classes` fp32 logits.
struct LossRequest {
  const std::byte* logits = nullptr;
  const std::int32_t* labels = nullptr;
  int rows = 0;
  int classes = 0;
  float smoothing = 0;            ///< of the labels, as in kernels/softmax_loss.hpp
  LossSums* sums = nullptr;       ///< on the device
  const float* scale = nullptr;   ///< on the device; one number
  std::byte* gradient = nullptr;  ///< receives that of *scale * (sum of the losses); null: not
};

/// An image set resident on a device.
class DeviceImages {
 public:
  virtual ~DeviceImages() = default;
};

/// The moments between the parts of a micro-batch's work on the device.
enum class Mark { load, forward, loss, backward, end };
inline constexpr std::size_t kMarks = 5;

/// Seconds that the device spent on the parts of one micro-batch.
struct ComputeSeconds {
  double load = 0;  ///< only what it did after the call that asked for it had returned
  double forward = 0;
  double loss = 0;
  double backward = 0;
};

/// That a backend can announce.
inline constexpr std::size_t kMostBuckets = 2048;

/// Where the values of an activation lie: channels come in blocks of `block`
/// (channels last: one block of all of them; plain (N, C, H, W): blocks of
/// one), pixels in between. `channels` is padded to whole blocks.
struct ActivationView {
  std::size_t channels = 0;
  std::size_t pixels = 0;
  std::size_t block = 1;
  bool bf16 = false;  ///< else fp32

  std::size_t blocks() const noexcept { return channels / block; }
  std::size_t image_elements() const noexcept { return channels * pixels; }
  std::size_t offset(std::size_t image, std::size_t channel, std::size_t pixel) const noexcept {
    return ((image * blocks() + channel / block) * pixels + pixel) * block + channel % block;
  }
};

/// The arenas that operations read and write, all fp32. `values` and
/// `gradients` follow Graph::parameters(); the statistics follow
/// BatchNormNode::statistics_offset.
struct ParameterMemory {
  std::span<float> values;
  std::span<float> gradients;
  std::span<float> batch_statistics;    ///< of the micro-batch in hand: means and biased variances
  std::span<float> running_statistics;  ///< read in inference
};

/// What a device offers to one replica. Pointers and spans are the device's own
/// unless a name says host. Work is done in the order of the calls; `finish`
/// waits for it. A device that fails throws RunError.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  virtual std::string device() const = 0;     ///< processor or GPU name
  /// Whether this machine computes in it.
  virtual bool offers(Precision precision) const = 0;
  /// The narrow view that the all-reduce takes.
  virtual ReduceDevice& reduce_device() = 0;
  /// The graph as this backend runs it: with nodes fused where its kernels can.
  /// Parameters and their places in the arenas stay as they are.
  virtual Graph prepare(const Graph& graph) const { return graph; }
  /// Runs `work`, which makes the same calls with the same memory whenever
  /// `key` is the same: a device may record it and replay the recording later.
  /// Without a key it neither records nor replays.
  virtual void replay(std::optional<std::uint64_t> /*key*/, const std::function<void()>& work) {
    work();
  }

  /// What the device reaches at best; a backend may take half a second to
  /// measure it. Nothing: unknown.
  virtual std::optional<Roof> roof() { return std::nullopt; }
  /// Its arithmetic alone, all threads together; measured anew at each call.
  virtual Peak peak() { return {}; }

  /// How the activation that `node` puts out lies in this backend's memory.
  virtual ActivationView view(const Graph& graph, NodeId node) const = 0;
  /// Bytes that it takes for `batch` images.
  std::size_t activation_bytes(const Graph& graph, NodeId node, int batch) const {
    const ActivationView v = view(graph, node);
    return std::size_t(batch) * v.image_elements() *
           (v.bf16 ? sizeof(kernels::Bfloat16) : sizeof(float));
  }
  /// Plans a node. Packed weights and scratch that it will share with other
  /// operations are counted by `packed_bytes` and `scratch_bytes` from then on.
  virtual std::unique_ptr<Operation> make_operation(const NodeRequest& request) = 0;
  /// A warning where what is planned is far slower than the device could be; empty: it is not.
  virtual std::string slow_plans() const { return ""; }
  virtual std::size_t packed_bytes() const = 0;
  virtual std::size_t scratch_bytes() const = 0;
  /// Bytes of what the backend keeps besides for the largest batch planned: indices, losses.
  virtual std::size_t buffer_bytes() const { return 0; }
  /// Begins anew: as if nothing had been planned or bound. What was planned is
  /// destroyed before, and must not be used any more.
  virtual void forget_plans() = 0;
  /// Names the arenas and allocates what operations share. Comes after the last
  /// `make_operation` and before the first `bind`.
  virtual void bind_parameters(const Graph& graph, const ParameterMemory& memory) = 0;
  /// Whether operations, from here on, may leave gradients of weights in memory of the backend's
  /// own: then the arena lacks them, and sgd_update of slices of the arena has them. A recording
  /// holds for one of both.
  virtual void leave_gradients(bool /*left*/) {}
  /// The arena has all gradients that were computed so far, but for those that are left.
  virtual void complete_gradients() {}
  /// Renews every packed copy from `values`: after the parameters have changed.
  virtual void pack_parameters() = 0;
  /// The same after sgd_update or lars_update of all parameters, which may have renewed some of
  /// them on their way.
  virtual void pack_updated() { pack_parameters(); }

  /// to = a + b over an activation of `node` for `batch` images.
  virtual void sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to,
                             const std::byte* a, const std::byte* b) = 0;

  // Its memory.

  /// Throws OutOfMemory.
  virtual Memory allocate(std::size_t bytes) = 0;
  /// Bytes of the memory that `allocate` takes from which are free at the
  /// moment, for all who share it; 0: the system does not tell.
  virtual std::size_t free_memory() const = 0;

  /// Host memory for `copy_later`.
  virtual Memory allocate_host(std::size_t bytes) { return allocate(bytes); }
  /// Copies a few numbers once all work so far is done, from or to memory of
  /// `allocate_host`. True: they are there. False: they are once `finish` or
  /// the `compute_seconds` of a later micro-batch has returned.
  virtual bool copy_later(std::span<float> to, std::span<const float> from) {
    download(to, from);
    return true;
  }
  virtual void zero(std::span<float> values) = 0;
  virtual void upload(std::span<float> device, std::span<const float> host) = 0;
  virtual void download(std::span<float> host, std::span<const float> device) = 0;
  /// Blocks until all work is done.
  virtual void finish() = 0;

  // Arithmetic besides the layers of a network: loss, sums, SGD, hashes.

  virtual void softmax_cross_entropy(const LossRequest& request) = 0;
  /// *to = {loss, correct, samples, nonfinite, flags->stop, 0, 0}; `nonfinite` is 1 if the loss or
  /// one of `statistics` is NaN or infinite, and then goes to flags->nonfinite too.
  virtual void write_step_sums(StepSums* to, const LossSums* sums,
                               std::span<const float> statistics, float samples,
                               RankFlags* flags) = 0;
  virtual void sgd_update(std::span<float> values, std::span<float> velocities,
                          std::span<const float> gradients, const kernels::SgdStep& step) = 0;
  /// sgd_update with kernels::lars_step of each tensor. Every backend has the same bits.
  virtual void lars_update(const LarsSlice& slice, const kernels::LarsStep& step) = 0;
  /// to[i] = weighted_statistic(from[i], samples, bessel(samples * values_per_image[i])).
  virtual void weigh_statistics(std::span<float> to, std::span<const float> from,
                                std::span<const float> values_per_image, float samples) = 0;
  /// running[i] = updated_running(running[i], weighted_sums[i], samples, momentum).
  virtual void update_running(std::span<float> running, std::span<const float> weighted_sums,
                              float samples, float momentum) = 0;
  /// Sum over i of element_hash(i, values[i]) modulo 2^64.
  virtual std::uint64_t hash(std::span<const float> values) = 0;
  /// How many of `values` are NaN or infinite.
  virtual std::uint64_t nonfinite(std::span<const float> values) = 0;
  /// to[k] = the sum of the squares of values[i] for i from ends[k - 1], or 0, up to ends[k], in
  /// double. Every backend has the same bits (kernels/square_sum.hpp), unless one is NaN. `ends`
  /// are the host's and ascend; `to`, which has a number for each, is the device's.
  virtual void square_sums(std::span<const float> values, std::span<const std::size_t> ends,
                           std::span<double> to) = 0;
  /// to->part_squares = part_squares(sum of `squares`, images) in the order of square_sums, and
  /// to->parts = 1. What is NaN or infinite makes to->nonfinite and flags->nonfinite 1.
  virtual void write_part_squares(StepSums* to, std::span<const double> squares, float images,
                                  RankFlags* flags) = 0;

  // How images become a network's input: from a set that the device holds, or
  // in batches that the host prepares.

  virtual std::unique_ptr<DeviceImages> hold(const ImageSet& images) = 0;
  /// Bytes on the device that `hold` takes for a set of `images`.
  virtual std::size_t image_bytes(std::size_t /*images*/) const { return 0; }
  /// Gathers, crops, flips, resizes and normalises a batch into the input
  /// activation, in one pass, and its labels into `labels`.
  virtual void make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) = 0;
  /// The way for batches of up to `batch` images of `image_size` pixels a side
  /// that the host prepares. Goes before the backend.
  virtual std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) = 0;
  /// Bytes of the device that it will hold, beyond what the replica does.
  virtual std::size_t stager_bytes(int image_size, std::size_t batch) const = 0;

  // When its work is done, in seconds, and what profilers show of it. A device
  // whose work is queued notes its own time, not that of the call.

  /// Notes the moment between two parts of a micro-batch's work. A recording keeps its marks.
  virtual void mark(Mark mark) = 0;
  /// Between the marks of the last micro-batch; waits until its work is done.
  virtual ComputeSeconds compute_seconds() = 0;

  /// Notes the moment at which all work so far is done. Not in a recording.
  virtual void tick() = 0;
  /// Seconds between each tick and the next; waits for the last one, and forgets all.
  virtual std::vector<double> take_ticks() = 0;
  /// Of the host's threads that compute, since some moment; unknown where a device does.
  virtual CoreTime core_time() { return {}; }

  /// A stretch of the host's time that profilers show under `name`; they lie in each other.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}

  // Which buckets of gradients are complete, told to a host's thread while the
  // rest of the backward pass still runs.

  /// Makes `announced` report that a bucket of gradients is complete once all
  /// work so far is done; below kMostBuckets. A recording keeps its
  /// announcements.
  virtual void announce(std::size_t bucket) = 0;
  /// How often `bucket` has been announced. Any thread may ask, at any time.
  virtual std::uint64_t announced(std::size_t bucket) const = 0;
  /// Blocks the calling thread until `bucket` has been announced at least
  /// `count` times. Returns when that happened: the moment of the announcement,
  /// or, from devices that do not tell it, the one at which it was seen.
  virtual SteadyTime wait_announced(std::size_t bucket, std::uint64_t count) const {
    const auto complete = [&] { return announced(bucket) >= count; };
    look_then_sleep(complete, [&] {
      while (!complete()) nap();  // a device cannot wake a thread
    });
    return SteadyClock::now();
  }
};

}  // namespace rueda
