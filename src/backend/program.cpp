#include "backend/program.hpp"

#include <algorithm>

#include "backend/named_range.hpp"
#include "base/computing.hpp"
#include "base/error.hpp"
#include "model/flops.hpp"
#include "rueda/backend/gradient_arena.hpp"

namespace rueda {

namespace {

bool can_read(const NodeRequest& request, NodeId input) {
  if (input == request.graph.input())
    return std::holds_alternative<ConvNode>(request.self().kind) && input == request.input();
  const bool is_dense = std::holds_alternative<DenseNode>(request.self().kind);
  return after_pooling(request.graph.node(input)) == is_dense;
}

/// `use` and `time`.
Interval including(const Interval& use, int time) {
  if (use.last < 0) return {time, time};
  return {std::min(use.first, time), std::max(use.last, time)};
}

}  // namespace

void require_known_inputs(const NodeRequest& request) {
  for (const NodeId input : request.self().inputs) {
    if (can_read(request, input)) continue;
    throw RunError("layer " + request.self().name +
                   ": backends have only convolutions on the image, and dense layers, and only "
                   "these, after a global average pool");
  }
}

// Time of a step: node i runs forward at i, the loss follows at n, node i runs
// backward at 2n - i. Every buffer declares from when to when it must live; the
// plan does the rest. What is made again in backward lives twice, at the same
// place, so that every operation is bound once.

Program::Program(const Graph& graph, Backend& backend, int batch, Mode mode, Recompute recompute)
    : graph_(graph), backend_(backend), batch_(batch), mode_(mode) {
  const std::size_t nodes = graph.nodes().size();
  operations_.resize(nodes);
  needs_.resize(nodes);
  for (NodeId node = 1; node <= graph.logits(); ++node) {
    operations_[index(node)] = backend.make_operation({graph, node, batch, mode});
    needs_[index(node)] = operations_[index(node)]->needs();
  }
  if (mode != Mode::train) recompute = Recompute::none;
  recompute_ = plan_recompute(graph, needs_, recompute);
  plan_activations();
  if (mode == Mode::train) plan_gradients();
  plan_ = plan_memory(lives_);
}

Program::BufferId Program::declare(std::size_t bytes, int first, int last) {
  lives_.push_back({bytes, first, last});
  return static_cast<BufferId>(lives_.size()) - 1;
}

int Program::last_use_in_forward(NodeId node) const {
  if (node == graph_.logits()) return loss_time();
  const std::vector<NodeId> readers = graph_.readers(node);
  if (readers.empty()) return forward_time(node);
  return forward_time(readers.back());
}

/// One that goes on ends before the next that does, or after all others.
int Program::end_of_backward(NodeId node) const {
  NodeId last = node;
  if (needs_[index(node)].goes_on)
    while (last > 1 && !needs_[index(last - 1)].goes_on) --last;
  return backward_time(last);
}

/// From the first to the last moment at which backward, or what it makes again, reads the output.
Interval Program::use_in_backward(NodeId node) const {
  Interval use;
  const auto include = [&use](int time) { use = including(use, time); };
  const auto include_backward = [&](NodeId of) {
    include(backward_time(of));
    include(end_of_backward(of));
  };
  if (needs_[index(node)].keeps_output) include_backward(node);
  for (const NodeId reader : graph_.readers(node)) {
    const bool first = graph_.node(reader).inputs.front() == node;
    if (needs_[index(reader)].keeps_input && first) include_backward(reader);
    if (recompute_.repeats(reader)) include(backward_time(recompute_.before[index(reader)]));
  }
  if (recompute_.repeats(node)) include(backward_time(recompute_.before[index(node)]));
  return use;
}

void Program::declare_activation(NodeId node) {
  const std::size_t bytes = backend_.activation_bytes(graph_, node, batch_);
  const BufferId id = declare(bytes, forward_time(node), last_use_in_forward(node));
  activations_.push_back(id);
  if (mode_ != Mode::train) return;
  const Interval backward = use_in_backward(node);
  BufferLife& life = lives_[index(id)];
  if (recompute_.repeats(node))
    life.again = backward;
  else
    life.last = std::max(life.last, backward.last);
}

void Program::plan_activations() {
  labels_ = declare(index(batch_) * sizeof(std::int32_t), 0, loss_time());
  for (NodeId node = 0; node <= graph_.logits(); ++node) {
    declare_activation(node);
    int last = forward_time(node);
    if (mode_ == Mode::train) last = end_of_backward(node);
    workspaces_.push_back(declare(needs_[index(node)].workspace_bytes, forward_time(node), last));
  }
}

void Program::plan_gradients() {
  gradients_ = rueda::plan_gradients(graph_, needs_);
  first_gradient_ = BufferId(lives_.size());
  for (const GradientBuffer& g : gradients_.buffers)
    declare(backend_.activation_bytes(graph_, g.of, batch_), backward_time(g.from),
            backward_time(g.to));
  for (NodeId node = 1; node <= graph_.logits(); ++node) {
    const GradientRoute& g = gradients_.routes[index(node)];
    const std::vector<int> read = g.sum >= 0 ? std::vector{g.sum} : g.incoming;
    for (const int i : read) {
      BufferLife& life = lives_[index(first_gradient_ + i)];
      life.last = std::max(life.last, end_of_backward(node));
    }
  }
}

std::byte* Program::place(BufferId id) const {
  if (id < 0 || lives_[index(id)].bytes == 0) return nullptr;
  return pool_ + plan_.offsets[index(id)];
}

OperationMemory Program::memory_of(NodeId node) const {
  OperationMemory memory;
  for (const NodeId input : graph_.node(node).inputs)
    memory.inputs.push_back(place(activations_[index(input)]));
  memory.output = place(activations_[index(node)]);
  memory.workspace = place(workspaces_[index(node)]);
  if (mode_ != Mode::train) return memory;
  const GradientRoute& g = gradients_.routes[index(node)];
  if (g.sum >= 0)
    memory.output_gradients = {gradient(g.sum)};
  else
    for (const int i : g.incoming) memory.output_gradients.push_back(gradient(i));
  for (const int i : g.outgoing) memory.input_gradients.push_back(gradient(i));
  memory.gradient_addend = gradient(g.addend);
  return memory;
}

void Program::bind(std::byte* pool) {
  pool_ = pool;
  for (NodeId node = 1; node <= graph_.logits(); ++node)
    operations_[index(node)]->bind(memory_of(node));
}

/// Does the work, which profilers show under the layer's name, and between two
/// ticks where a micro-batch is profiled.
template <typename Work>
void Program::timed(NodeId node, Pass pass, const Work& work) {
  const NamedRange range(backend_, graph_.node(node).name);
  Computing::reaches(graph_.node(node).name.c_str());
  if (!profiles_) return work();
  backend_.tick();
  work();
  backend_.tick();
  const bool first = passes_.empty() || passes_.front().seconds.empty();
  if (first) passes_.push_back({.node = node, .pass = pass, .seconds = {}});
}

void Program::forward() {
  for (NodeId node = 1; node <= graph_.logits(); ++node)
    timed(node, Pass::forward, [&] { operations_[index(node)]->forward(); });
}

void Program::sum_incoming(NodeId node) {
  const GradientRoute& g = gradients_.routes[index(node)];
  const std::byte* left = gradient(g.incoming.front());
  for (std::size_t i = 1; i <= g.sums(); ++i) {
    backend_.sum_gradients(graph_, node, batch_, gradient(g.sum), left, gradient(g.incoming[i]));
    left = gradient(g.sum);
  }
}

/// In forward order, since one may read what another made.
void Program::repeat_before(NodeId node) {
  for (NodeId earlier = 1; earlier <= node; ++earlier)
    if (recompute_.before[index(earlier)] == node)
      timed(earlier, Pass::recompute, [&] { operations_[index(earlier)]->recompute(); });
}

void Program::backward(const std::function<void(std::size_t bucket)>& complete) {
  Operation* going_on = nullptr;
  const auto finish = [&] {
    if (going_on != nullptr) going_on->finish_backward();
    going_on = nullptr;
  };
  for (NodeId node = graph_.logits(); node >= 1; --node) {
    const bool goes_on = needs_[index(node)].goes_on;
    if (goes_on) finish();
    repeat_before(node);
    timed(node, Pass::backward, [&] {
      sum_incoming(node);
      operations_[index(node)]->backward();
      if (goes_on) going_on = operations_[index(node)].get();
      if (profiles_) finish();  // a layer's time is that of all its work
    });
    for (std::size_t bucket = 0; bucket < completing_.size(); ++bucket) {
      if (completing_[bucket] != node) continue;
      finish();
      complete(bucket);
    }
  }
  finish();
}

void Program::profile(const std::function<void()>& work) {
  profiles_ = true;
  work();
  profiles_ = false;
  const std::vector<double> gaps = backend_.take_ticks();
  for (std::size_t i = 0; i < passes_.size(); ++i) passes_[i].seconds.push_back(gaps.at(2 * i));
}

LayerProfile Program::profiled() const {
  LayerProfile profile{std::size_t(batch_), backend_.roof(), passes_};
  const auto kernels_of = [&](const LayerTime& layer) {
    const NodeId input = graph_.node(layer.node).inputs.front();
    const std::size_t bytes = backend_.view(graph_, input).bf16 ? 2 : sizeof(float);
    return work_of(graph_, layer.node, layer.pass, profile.batch, bytes);
  };
  for (LayerTime& layer : profile.layers) {
    layer.layer = graph_.node(layer.node).name;
    for (const Work& work : kernels_of(layer)) {
      layer.flops += work.flops;
      layer.bytes += work.bytes;
    }
    if (!profile.roof) continue;
    // Where other work slowed the measurement down, a layer knows better.
    double& roof = profile.roof->flops;
    roof = std::max(roof, layer.flops / std::ranges::min(layer.seconds));
  }
  for (LayerTime& layer : profile.layers)
    if (profile.roof) layer.best = profile.roof->seconds(kernels_of(layer));
  return profile;
}

}  // namespace rueda
