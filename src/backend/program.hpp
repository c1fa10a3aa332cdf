#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/gradient_plan.hpp"
#include "backend/memory_plan.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/model/graph.hpp"

namespace rueda {

/// Which outputs are made again in backward, and when.
struct RecomputePlan {
  /// By node: before whose backward its output is made again; kNever if it is
  /// kept, or if nothing needs it any more.
  std::vector<NodeId> before;
  static constexpr NodeId kNever = -1;
  bool repeats(NodeId node) const { return before[std::size_t(node)] != kNever; }
};

/// `needs` by node. Blocks end with additions, which may be fused into other
/// nodes, and with the pooling of a stem; their last outputs are kept (Chen et
/// al., arXiv 1604.06174, with blocks for segments).
RecomputePlan plan_recompute(const Graph& graph, const std::vector<OperationNeeds>& needs,
                             Recompute what);

/// A graph planned on a backend for one batch size and mode: its operations in
/// order, and where each activation, gradient and workspace lies in a pool.
/// Planning allocates nothing; `bind` fixes the addresses once, so that steps
/// allocate nothing either.
class Program {
 public:
  Program(const Graph& graph, Backend& backend, int batch, Mode mode,
          Recompute recompute = Recompute::none);

  int batch() const noexcept { return batch_; }
  std::size_t pool_bytes() const noexcept { return plan_.pool_bytes; }
  /// `pool` has at least `pool_bytes()` bytes and may be shared with programs not in use meanwhile.
  void bind(std::byte* pool);

  std::byte* input() const { return place(activations_.front()); }
  std::int32_t* labels() const { return reinterpret_cast<std::int32_t*>(place(labels_)); }
  std::byte* logits() const { return place(activations_.back()); }
  std::byte* logits_gradient() const { return place(first_gradient_); }

  /// Backward calls what it is given for each of these buckets as it completes
  /// them: bucket i of the gradient arena ends before float `ends[i]`.
  void announce_buckets(const std::vector<std::size_t>& ends) {
    completing_ = completing_nodes(graph_, ends);
  }

  /// Of a node that is not the input.
  Operation& operation(NodeId node) const { return *operations_.at(index(node)); }

  void forward();
  /// From the logits' gradient to the gradient of every parameter.
  void backward(const std::function<void(std::size_t bucket)>& complete = {});

  /// Does `work`, a micro-batch, and takes the time of each pass of each layer.
  void profile(const std::function<void()>& work);
  /// Of all micro-batches that were profiled.
  LayerProfile profiled() const;

 private:
  using BufferId = int;

  void plan_activations();
  void plan_gradients();
  BufferId declare(std::size_t bytes, int first, int last);
  int forward_time(NodeId node) const noexcept { return node; }
  int loss_time() const noexcept { return int(graph_.nodes().size()); }
  /// When its backward begins.
  int backward_time(NodeId node) const noexcept { return 2 * loss_time() - node; }
  int last_use_in_forward(NodeId node) const;
  int end_of_backward(NodeId node) const;
  Interval use_in_backward(NodeId node) const;
  void declare_activation(NodeId node);
  void repeat_before(NodeId node);
  std::byte* place(BufferId id) const;
  OperationMemory memory_of(NodeId node) const;
  std::byte* gradient(int i) const { return i < 0 ? nullptr : place(first_gradient_ + i); }
  void sum_incoming(NodeId node);
  template <typename Work>
  void timed(NodeId node, Pass pass, const Work& work);

  const Graph& graph_;
  Backend& backend_;
  int batch_;
  Mode mode_;
  std::vector<std::unique_ptr<Operation>> operations_;  ///< by node; none for the input
  std::vector<OperationNeeds> needs_;
  RecomputePlan recompute_;
  std::vector<NodeId> completing_;  ///< by bucket
  std::vector<BufferLife> lives_;
  std::vector<BufferId> activations_;
  std::vector<BufferId> workspaces_;
  GradientPlan gradients_;
  BufferId first_gradient_ = -1;  ///< of the plan's: the logits'
  BufferId labels_ = -1;
  MemoryPlan plan_;
  std::byte* pool_ = nullptr;
  bool profiles_ = false;
  std::vector<LayerTime> passes_;  ///< of a profiled micro-batch, in their order
};

}  // namespace rueda
