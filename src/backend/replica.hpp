#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/host_batch.hpp"
#include "backend/program.hpp"
#include "base/split.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/backend/memory_need.hpp"
#include "rueda/model/graph.hpp"

namespace rueda {

/// A graph planned on a backend for every batch size that will occur, before
/// anything is allocated: what a replica is made from, and what gives its
/// memory before it exists.
class ReplicaPlan {
 public:
  using Programs = std::map<std::size_t, std::unique_ptr<Program>>;

  /// Batch sizes are those of single micro-batches; 0 is ignored. `ranks` have
  /// slots in the gradient arena. The backend outlives the plan.
  ReplicaPlan(const Graph& graph, Backend& backend, const std::vector<std::size_t>& train_batches,
              const std::vector<std::size_t>& infer_batches, Recompute recompute = Recompute::none,
              std::size_t ranks = 0)
      : graph_(backend.prepare(graph)),
        layout_(graph_, ranks),
        backend_(backend),
        recompute_(recompute),
        train_(programs(train_batches, Mode::train)),
        infer_(programs(infer_batches, Mode::infer)) {}

  const GradientLayout& layout() const noexcept { return layout_; }
  const Programs& train() const noexcept { return train_; }
  const Programs& infer() const noexcept { return infer_; }
  /// All programs share one pool: bytes of the largest.
  std::size_t pool_bytes() const noexcept {
    std::size_t most = 0;
    for (const Programs* programs : {&train_, &infer_})
      for (const auto& [batch, program] : *programs) most = std::max(most, program->pool_bytes());
    return most;
  }
  /// What a replica will hold; optimizer, accumulation and messages are not its own.
  MemoryNeed memory() const {
    return {.parameters = layout_.parameter_memory() * sizeof(float),
            .gradients = layout_.memory() * sizeof(float),
            .statistics = 3 * layout_.statistics * sizeof(float),
            .packed = backend_.packed_bytes(),
            .activations = pool_bytes(),
            .workspace = backend_.scratch_bytes(),
            .buffers = backend_.buffer_bytes()};
  }
  void bind(std::byte* pool) {
    for (auto& [batch, program] : train_) program->bind(pool);
    for (auto& [batch, program] : infer_) program->bind(pool);
  }

 private:
  Programs programs(const std::vector<std::size_t>& batches, Mode mode) const {
    Programs programs;
    for (const std::size_t batch : batches) {
      if (batch == 0 || programs.contains(batch)) continue;
      programs[batch] = std::make_unique<Program>(graph_, backend_, int(batch), mode, recompute_);
    }
    return programs;
  }

  Graph graph_;  ///< as the backend runs it
  GradientLayout layout_;
  Backend& backend_;
  Recompute recompute_;
  Programs train_;
  Programs infer_;
};

/// A graph bound to a backend: owns parameters, gradients and activations. All
/// batch sizes that will occur are planned at construction and share one pool;
/// afterwards nothing is allocated, unless other sizes are planned between epochs.
class Replica {
 public:
  /// Batch sizes are those of single micro-batches; 0 is ignored.
  Replica(const Graph& graph, Backend& backend, const std::vector<std::size_t>& train_batches,
          const std::vector<std::size_t>& infer_batches, Recompute recompute = Recompute::none)
      : Replica(graph, backend,
                std::make_unique<ReplicaPlan>(graph, backend, train_batches, infer_batches,
                                              recompute)) {}
  /// From a plan for the same graph on the same backend. `gradients` is memory
  /// of the backend's kind for the gradient arena, which outlives the replica:
  /// at least GradientLayout::memory() floats, zeroed, aligned for kernels.
  /// Empty: the replica takes its own. Throws OutOfMemory.
  Replica(const Graph& graph, Backend& backend, std::unique_ptr<ReplicaPlan> plan,
          std::span<float> gradients = {});

  /// Gives up all plans with their activations, and what the backend keeps for
  /// them. Parameters, gradients and statistics stay. Nothing can be computed
  /// until `take_plan`.
  void forget_plan();
  /// Binds a plan for the same graph and other batch sizes, made since
  /// `forget_plan`. It announces the same buckets. Throws OutOfMemory.
  void take_plan(std::unique_ptr<ReplicaPlan> plan);

  const Graph& graph() const noexcept { return graph_; }
  Backend& backend() noexcept { return backend_; }
  MemoryNeed memory() const { return plan_->memory(); }

  /// Draws every parameter from its Init: a pure function of (seed, parameter name, index).
  void initialise(std::uint64_t seed);
  /// Tells the replica that `parameters()` were written: renews packed weights.
  void parameters_changed() { backend_.pack_parameters(); }
  /// The same where an optimizer has updated all of them, and nothing else has written since the
  /// last of these calls.
  void parameters_updated() { backend_.pack_updated(); }

  std::span<float> parameters() { return values_.floats().subspan(layout_.lead()); }
  /// Gradients of the last micro-batch and the tail (GradientLayout).
  std::span<float> gradients() { return gradient_memory_.subspan(layout_.lead(), layout_.total()); }
  /// The same without the slots of the ranks, which no micro-batch writes.
  std::span<float> computed() { return gradients().first(layout_.slots_offset()); }
  std::span<float> running_statistics() { return running_.floats(); }
  std::span<float> parameter(ParameterId id) {
    const Parameter& p = graph_.parameter(id);
    return parameters().subspan(p.offset, p.count);
  }

  /// Trains with smoothed labels (kernels/softmax_loss.hpp) from now on; `infer` never does.
  /// Before the first `compute`, because recordings keep it.
  void smooth_labels(float smoothing) { smoothing_ = smoothing; }

  // One training micro-batch is load, forward, loss, backward, in this order.

  /// Makes the batch on the device. `indices` may be empty: then the following
  /// three only leave zeros in the gradient arena, and the rank takes part in
  /// the collectives as it is.
  void load(const BatchRequest& request);
  /// The same with a batch of `images` that the host has prepared in a slot of `stager`.
  void load(BatchStager& stager, std::size_t slot, std::size_t images);
  void forward() {
    if (current_ != nullptr) current_->forward();
  }
  /// Loss and its gradient, multiplied by `scale` (1 / global samples of the step), and the tail.
  void loss(float scale);
  /// Measures the part too, if `measure_norms` asks for it.
  void backward();
  /// From the next step on backward announces, through Backend::announced, each
  /// bucket of the gradient arena that it completes; bucket i ends before float
  /// `ends[i]`. An empty micro-batch announces all of them. Once: recordings
  /// keep their announcements. Throws RunError for more than kMostBuckets.
  void announce_buckets(const std::vector<std::size_t>& ends);
  /// Whether `sum_squares` works from here on, and micro-batches write the squares of their
  /// gradients into the tail: by tensor and before each bucket is announced, because another thread
  /// may sum it from then on.
  void measure_norms(bool wanted) { measures_ = wanted; }
  /// Whether an Sgd without LARS is the only one to read the gradients that `compute` makes from
  /// here on: then `gradients()` may lack those of weights, as the update has them from the
  /// backend. Not where buckets are announced, norms are measured or something disturbs.
  void leave_gradients(bool wanted) { leaves_ = wanted; }
  /// The three at once, which a device may replay from a recording. Returns
  /// when they are done, with the device's time for them and for the load
  /// before. `profile`: takes the time of each layer, if the micro-batch is a
  /// full one; then nothing is replayed.
  ComputeSeconds compute(float scale, bool profile = false);
  /// From now on calls `by` after each part of a micro-batch, which is then not
  /// replayed: for injected faults. Empty: no longer.
  void disturb(std::function<void(Mark done)> by) { disturb_ = std::move(by); }
  /// The pool that all programs share.
  std::span<float> activations() { return pool_.floats(); }
  /// Of the micro-batch in hand, which is not empty.
  const Program& program() const { return *current_; }
  /// Of the micro-batches so far.
  LayerProfile profiled() const {
    return plan_->train().empty() ? LayerProfile{} : plan_->train().rbegin()->second->profiled();
  }

  /// Whether every parameter is finite: looks at all of them, so once an epoch.
  bool parameters_are_finite() { return backend_.nonfinite(parameters()) == 0; }
  /// Seconds that were spent on allocating and binding, planning apart.
  double allocation_seconds() const noexcept { return allocation_seconds_; }

  /// Sums of loss and correct answers over a batch, with running statistics.
  /// `logits` receives those of all its images, unless it is empty.
  LossSums infer(const BatchRequest& request, std::span<float> logits = {});

  /// Puts `values` into slot number `slot` of the arena and zeros into the
  /// others; once a step, before the arena is summed. No slot: zeros alone.
  void write_slot(std::optional<std::size_t> slot, std::span<const float, kSlotFloats> values);
  /// Sums the squares of the gradients in `floats` of the arena, of the tensors that end there: for
  /// `gradient_norm2`, which needs those of all parameters. Nothing unless norms are measured.
  void sum_squares(Range floats);
  /// Reads the summed tail, this rank's flags and the sums of squares as all work so far leaves
  /// them. Whether they can be looked at: false where the device works on its
  /// own, until Backend::finish or the next `compute` has returned.
  bool read_step_sums();
  const StepSums& step_sums() const { return result().sums; }
  /// The squared norm of the gradients of all parameters, as they were when `sum_squares` saw them.
  double gradient_norm2() const;
  /// Of all ranks, one after the other, as they were read with the sums.
  std::span<const float> slots() const {
    return result_.floats().subspan(sizeof(StepResult) / sizeof(float));
  }
  /// From the next micro-batch on this rank adds 1 to StepSums::stop.
  void ask_to_stop();
  /// Whether every loss, batch statistic and part's square sum of this rank had been finite when it
  /// was read.
  bool was_finite() const { return result().flags.nonfinite == 0.0F; }
  /// running = momentum * running + (1 - momentum) * summed statistics / samples, for every node.
  void update_running_statistics(float samples);

 private:
  void allocate();
  void allocate_gradients();
  void bind_plan();
  /// Makes the program for that many images the current one; whether there is one.
  bool choose_program(std::size_t images) {
    current_ = images == 0 ? nullptr : plan_->train().at(images).get();
    return current_ != nullptr;
  }
  /// Single numbers, on the device.
  struct Scalars {
    LossSums sums;
    float scale;
    RankFlags flags;
  };
  Scalars& scalars() { return *reinterpret_cast<Scalars*>(scalars_.data()); }
  /// In the tail, on the device.
  StepSums* own_sums() {
    return reinterpret_cast<StepSums*>(gradients().data() + layout_.sums_offset());
  }
  /// What was read of a step, on the host.
  struct StepResult {
    RankFlags flags;
    StepSums sums;
  };
  StepResult& result() const { return *reinterpret_cast<StepResult*>(result_.data()); }
  std::vector<float> for_variances(float (*value)(const BatchNormNode&, const Shape&)) const;
  void set_scale(float scale);
  void compute_loss();
  void write_tail(float samples);
  void complete_bucket(std::size_t bucket);
  void write_part();
  std::span<double> squares(const Memory& memory) const {
    return {reinterpret_cast<double*>(memory.data()), tensor_ends_.size()};
  }

  const Graph& graph_;
  Backend& backend_;
  GradientLayout layout_;
  std::unique_ptr<ReplicaPlan> plan_;
  Memory values_, own_gradients_, batch_statistics_, running_, values_per_image_, scalars_, pool_;
  Memory result_, slots_written_;         ///< on the host; slots follow a StepResult
  std::vector<std::size_t> tensor_ends_;  ///< in the arena
  Memory squares_, squares_read_;         ///< a double by tensor; the second is on the host
  bool measures_ = false;
  bool leaves_ = false;
  std::span<float> gradient_memory_;  ///< `own_gradients_`, or somebody else's
  float scale_ = 0;                   ///< the one on the device
  float smoothing_ = 0;
  bool asks_to_stop_ = false;
  std::function<void(Mark)> disturb_;
  double allocation_seconds_ = 0;
  std::vector<std::size_t> announced_;  ///< where the announced buckets end
  Program* current_ = nullptr;          ///< of the micro-batch in hand; null: it is empty
};

}  // namespace rueda
