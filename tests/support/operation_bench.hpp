#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend_under_test.hpp"
#include "reference_ops.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::test {

/// What a bench runs: the last node of `graph`, whose parameters have these values.
struct BenchCase {
  const Graph& graph;
  int batch;
  Variant variant;
  Precision precision;
  Vector parameters = {};
  Mode mode = Mode::train;
  Vector running = {};
  int output_gradients = 1;
  bool gradient_addend = false;  ///< backward gets one, where the operation takes it
};

/// A guarded block of numbers of either type in a backend's memory, all NaN at first.
class GuardedBuffer {
 public:
  /// `lead` bytes at its beginning belong to the guard: for places that are less aligned.
  GuardedBuffer(Backend& backend, std::size_t bytes, std::size_t lead = 0)
      : memory_(backend.allocate(kGuard + lead + bytes + kGuard)),
        bytes_(bytes),
        front_(kGuard + lead) {
    write_bytes(memory_.data(), Bytes(memory_.size(), kPoison));
  }
  std::byte* data() const { return memory_.data() + front_; }
  std::span<float> floats() const {
    return {reinterpret_cast<float*>(data()), bytes_ / sizeof(float)};
  }
  std::vector<std::byte> read() const {
    Bytes bytes(bytes_);
    read_bytes(bytes, data());
    return bytes;
  }
  void poison() const { write_bytes(data(), Bytes(bytes_, kPoison)); }
  bool intact() const {
    Bytes all(memory_.size());
    read_bytes(all, memory_.data());
    all.erase(all.begin() + long(front_), all.begin() + long(front_ + bytes_));
    return std::ranges::count(all, kPoison) == long(all.size());
  }

 private:
  using Bytes = std::vector<std::byte>;
  static constexpr std::size_t kGuard = 256;  ///< bytes on each side: more than any kernel's vector
  static constexpr auto kPoison = std::byte{0xFF};  ///< two are a NaN in bf16, four in fp32

  Memory memory_;
  std::size_t bytes_;
  std::size_t front_;
};

/// The last node of a graph on the backend under test, alone, on buffers of its own. Whatever the
/// operation must write is filled with NaN before, and everything lies between guards.
class OperationBench {
 public:
  explicit OperationBench(const BenchCase& c)
      : case_(c),
        backend_(open_backend_under_test(c.variant, c.precision)),
        operation_(backend_->make_operation({graph_, node_, case_.batch, case_.mode})),
        values_(arena(graph_.parameter_count(), lead_)),
        gradients_(arena(graph_.parameter_count(), lead_)),
        batch_statistics_(arena(graph_.statistics_count())),
        running_(arena(graph_.statistics_count())) {
    fill(values_, case_.parameters);
    fill(running_, case_.running);
    backend_->bind_parameters(graph_, {values_.floats(), gradients_.floats(),
                                       batch_statistics_.floats(), running_.floats()});
    backend_->pack_parameters();
    bind();
  }

  OperationNeeds needs() const { return operation_->needs(); }

  Tensor forward(const std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) write(inputs[i], input_nodes_[i], inputs_[i]);
    output_.front().poison();
    operation_->forward();
    backend_->finish();
    return read(node_, output_.front());
  }

  /// The gradients of the inputs; one for all where they share it, none of those that are the
  /// output's own. `addend` goes into the first.
  std::vector<Tensor> backward(const std::vector<Tensor>& output_gradients,
                               const Tensor& addend = {}) {
    for (std::size_t i = 0; i < output_gradients.size(); ++i)
      write(output_gradients[i], node_, output_gradients_[i]);
    for (const GuardedBuffer& to : addend_) write(addend, input_nodes_.front(), to);
    if (!needs().keeps_output) output_.front().poison();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!needs().keeps_input || i > 0) inputs_[i].poison();
    run_backward();
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < input_gradients_.size(); ++i) {
      if (passes_gradient(i)) continue;
      const NodeId input = input_nodes_[i];
      result.push_back(input != graph_.input() ? read(input, input_gradients_[i]) : Tensor());
    }
    return result;
  }

  Vector parameter_gradient(ParameterId id) {
    const Parameter& p = graph_.parameter(id);
    return to_doubles(read_floats(*backend_, gradients_.floats().subspan(p.offset, p.count)));
  }
  Vector batch_statistics() {
    return to_doubles(read_floats(*backend_, batch_statistics_.floats()));
  }

  /// Empty if nothing was written beyond any buffer nor into what backward only reads, and the
  /// channels that pad a layout were zero in everything put out (later kernels rely on it); else
  /// what is wrong.
  std::string damage() {
    const auto look = [&](const auto& buffers, const char* what) {
      for (const GuardedBuffer& buffer : buffers)
        if (!buffer.intact()) note(std::string("written beyond ") + what);
    };
    look(std::span(&values_, 1), "the parameters");
    look(std::span(&gradients_, 1), "the parameter gradients");
    look(std::span(&batch_statistics_, 1), "the batch statistics");
    look(std::span(&running_, 1), "the running statistics");
    look(inputs_, "an input");
    look(output_, "the output");
    look(workspace_, "the workspace");
    look(output_gradients_, "an output gradient");
    look(input_gradients_, "an input gradient");
    look(addend_, "the addend");
    return damage_;
  }

 private:
  using Buffers = std::vector<GuardedBuffer>;

  GuardedBuffer arena(std::size_t floats, std::size_t lead = 0) {
    return {*backend_, floats * sizeof(float), lead * sizeof(float)};
  }
  GuardedBuffer activation(NodeId node) {
    return {*backend_, backend_->activation_bytes(graph_, node, case_.batch)};
  }
  void fill(const GuardedBuffer& to, const Vector& values) {
    backend_->upload(to.floats().first(values.size()), to_floats(values));
  }
  void note(const std::string& damage) { damage_ += (damage_.empty() ? "" : "; ") + damage; }
  bool passes_gradient(std::size_t input) const {
    return (needs().passes_gradient >> input & 1U) != 0;
  }

  void bind() {
    OperationMemory m;
    for (const NodeId input : input_nodes_)
      m.inputs.push_back(inputs_.emplace_back(activation(input)).data());
    m.output = output_.emplace_back(activation(node_)).data();
    if (needs().workspace_bytes > 0)
      m.workspace = workspace_.emplace_back(*backend_, needs().workspace_bytes).data();
    if (case_.mode == Mode::train) bind_input_gradients(m);
    operation_->bind(m);
  }

  void bind_input_gradients(OperationMemory& m) {
    for (int i = 0; i < case_.output_gradients; ++i)
      m.output_gradients.push_back(output_gradients_.emplace_back(activation(node_)).data());
    for (std::size_t i = 0; i < input_nodes_.size(); ++i) {
      if (needs().shares_input_gradient && i > 0) break;
      const NodeId input = input_nodes_[i];
      const GuardedBuffer& buffer = input_gradients_.emplace_back(activation(input));
      std::byte* place = passes_gradient(i) ? m.output_gradients.front() : buffer.data();
      m.input_gradients.push_back(input != graph_.input() ? place : nullptr);
    }
    if (!case_.gradient_addend) return;
    m.gradient_addend = addend_.emplace_back(activation(input_nodes_.front())).data();
  }

  /// Others read what the operation only reads, too.
  void run_backward() {
    std::vector<const GuardedBuffer*> only_read = {&inputs_.front(), &output_.front()};
    for (const GuardedBuffer& b : output_gradients_) only_read.push_back(&b);
    for (const GuardedBuffer& b : addend_) only_read.push_back(&b);
    std::vector<std::vector<std::byte>> before;
    for (const GuardedBuffer* b : only_read) before.push_back(b->read());
    operation_->backward();
    operation_->finish_backward();
    backend_->complete_gradients();
    backend_->finish();
    for (std::size_t i = 0; i < only_read.size(); ++i)
      if (only_read[i]->read() != before[i]) note("backward changed what it reads");
  }

  void write(const Tensor& values, NodeId node, const GuardedBuffer& to) {
    write_activation(*backend_, graph_, node, case_.batch, to_floats(values.values), to.data());
  }
  /// Reading drops the padding and writing zeroes it, so a round trip changes nothing exactly if it
  /// is zero already.
  Tensor read(NodeId node, const GuardedBuffer& from) {
    Tensor t(case_.batch, graph_.shape(node));
    t.values = to_doubles(read_activation(*backend_, graph_, node, case_.batch, from.data()));
    const GuardedBuffer again = activation(node);
    write(t, node, again);
    if (again.read() != from.read()) note("padding of " + graph_.node(node).name + " is not zero");
    return t;
  }

  BenchCase case_;
  const Graph& graph_ = case_.graph;
  NodeId node_ = graph_.logits();
  std::vector<NodeId> input_nodes_ = graph_.node(node_).inputs;
  std::size_t lead_ = GradientLayout(graph_).lead();
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Operation> operation_;
  GuardedBuffer values_, gradients_, batch_statistics_, running_;
  std::string damage_;
  Buffers inputs_, output_, workspace_, output_gradients_, input_gradients_, addend_;
};

}  // namespace rueda::test
