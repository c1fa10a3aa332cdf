#include "operation_bench.hpp"

#include <algorithm>

#include "backend_under_test.hpp"
#include "reference_ops.hpp"

namespace rueda::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kGuard = 256;        ///< bytes on each side: more than any kernel's vector
constexpr auto kPoison = std::byte{0xFF};  ///< two of these are a NaN in bf16, four in fp32

bool all_poison(const std::byte* from, std::size_t bytes) {
  return std::all_of(from, from + bytes, [](std::byte b) { return b == kPoison; });
}

}  // namespace

OperationBench::Buffer::Buffer(Backend& backend, std::size_t bytes, std::size_t lead)
    : memory_(backend.allocate(kGuard + lead + bytes + kGuard)),
      bytes_(bytes),
      front_(kGuard + lead) {
  write_bytes(memory_->data(), Bytes(memory_->size(), kPoison));
}

std::byte* OperationBench::Buffer::data() const { return memory_->data() + front_; }

std::span<float> OperationBench::Buffer::floats() const {
  return {reinterpret_cast<float*>(data()), bytes_ / sizeof(float)};
}

std::vector<std::byte> OperationBench::Buffer::read() const {
  Bytes bytes(bytes_);
  read_bytes(bytes, data());
  return bytes;
}

void OperationBench::Buffer::poison() const { write_bytes(data(), Bytes(bytes_, kPoison)); }

bool OperationBench::Buffer::intact() const {
  Bytes all(memory_->size());
  read_bytes(all, memory_->data());
  return all_poison(all.data(), front_) && all_poison(all.data() + front_ + bytes_, kGuard);
}

OperationBench::OperationBench(const BenchCase& c)
    : case_(c),
      backend_(open_backend_under_test(c.variant, c.precision)),
      operation_(backend_->make_operation(case_.graph, case_.node, case_.batch, case_.mode)),
      lead_(GradientLayout(case_.graph).lead()),
      values_(arena(case_.graph.parameter_count(), lead_)),
      gradients_(arena(case_.graph.parameter_count(), lead_)),
      batch_statistics_(arena(case_.graph.statistics_count())),
      running_(arena(case_.graph.statistics_count())) {
  fill(values_, case_.parameters);
  fill(running_, case_.running);
  backend_->bind_parameters(case_.graph, {values_.floats(), gradients_.floats(),
                                          batch_statistics_.floats(), running_.floats()});
  backend_->pack_parameters();
  bind();
}

OperationBench::Buffer OperationBench::arena(std::size_t floats, std::size_t lead) {
  return {*backend_, floats * sizeof(float), lead * sizeof(float)};
}

OperationBench::Buffer OperationBench::activation(NodeId node) {
  return {*backend_, backend_->activation_bytes(case_.graph, node, case_.batch)};
}

void OperationBench::bind() {
  const OperationNeeds needs = operation_->needs();
  OperationMemory m;
  for (const NodeId input : input_nodes()) {
    m.inputs.push_back(inputs_.emplace_back(activation(input)).data());
  }
  m.output = output_.emplace_back(activation(case_.node)).data();
  if (needs.workspace_bytes > 0) {
    m.workspace = workspace_.emplace_back(Buffer(*backend_, needs.workspace_bytes)).data();
  }
  if (case_.mode == Mode::train) bind_input_gradients(m);
  operation_->bind(m);
}

void OperationBench::bind_input_gradients(OperationMemory& m) {
  for (int i = 0; i < case_.output_gradients; ++i) {
    m.output_gradients.push_back(output_gradients_.emplace_back(activation(case_.node)).data());
  }
  for (std::size_t i = 0; i < input_nodes().size(); ++i) {
    if (needs().shares_input_gradient && i > 0) break;
    const NodeId input = input_nodes()[i];
    const bool wanted = input != case_.graph.input();
    Buffer& buffer = input_gradients_.emplace_back(activation(input));
    std::byte* place = passes_gradient(i) ? m.output_gradients.front() : buffer.data();
    m.input_gradients.push_back(wanted ? place : nullptr);
  }
  if (!case_.gradient_addend) return;
  m.gradient_addend = addend_.emplace_back(activation(input_nodes().front())).data();
}

bool OperationBench::passes_gradient(std::size_t input) const {
  return (operation_->needs().passes_gradient >> input & 1U) != 0;
}

void OperationBench::fill(const Buffer& to, const Vector& values) {
  backend_->upload(to.floats().first(values.size()), to_floats(values));
}

Vector OperationBench::floats_of(const Buffer& from) {
  return to_doubles(read_floats(*backend_, from.floats()));
}

void OperationBench::write(const Tensor& values, NodeId node, const Buffer& to) {
  backend_->write_activation(case_.graph, node, case_.batch, to_floats(values.values), to.data());
}

/// Reading drops the padding and writing zeroes it, so a round trip changes nothing exactly if it
/// is zero already.
Tensor OperationBench::read(NodeId node, const Buffer& from) {
  Tensor t(case_.batch, case_.graph.shape(node));
  std::vector<float> plain(t.size());
  backend_->read_activation(case_.graph, node, case_.batch, from.data(), plain);
  t.values = to_doubles(plain);
  const Buffer again = activation(node);
  write(t, node, again);
  if (again.read() != from.read()) {
    note("padding of " + case_.graph.node(node).name + " is not zero");
  }
  return t;
}

Tensor OperationBench::forward(const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) write(inputs[i], input_nodes()[i], inputs_[i]);
  output_.front().poison();
  operation_->forward();
  backend_->finish();
  return read(case_.node, output_.front());
}

std::vector<Tensor> OperationBench::backward(const std::vector<Tensor>& output_gradients,
                                             const Tensor& addend) {
  for (std::size_t i = 0; i < output_gradients.size(); ++i) {
    write(output_gradients[i], case_.node, output_gradients_[i]);
  }
  for (const Buffer& to : addend_) write(addend, input_nodes().front(), to);
  const OperationNeeds needs = operation_->needs();
  if (!needs.keeps_output) output_.front().poison();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!needs.keeps_input || i > 0) inputs_[i].poison();
  }
  run_backward();
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < input_gradients_.size(); ++i) {
    if (passes_gradient(i)) continue;
    const NodeId input = input_nodes()[i];
    const bool wanted = input != case_.graph.input();
    result.push_back(wanted ? read(input, input_gradients_[i]) : Tensor());
  }
  return result;
}

/// Others read what the operation only reads, too.
void OperationBench::run_backward() {
  std::vector<const Buffer*> only_read = {&inputs_.front(), &output_.front()};
  for (const Buffer& b : output_gradients_) only_read.push_back(&b);
  for (const Buffer& b : addend_) only_read.push_back(&b);
  std::vector<Bytes> before;
  for (const Buffer* b : only_read) before.push_back(b->read());
  operation_->backward();
  backend_->finish();
  for (std::size_t i = 0; i < only_read.size(); ++i) {
    if (only_read[i]->read() != before[i]) note("backward changed what it reads");
  }
}

Vector OperationBench::parameter_gradient(ParameterId id) {
  const Parameter& p = case_.graph.parameter(id);
  return to_doubles(read_floats(*backend_, gradients_.floats().subspan(p.offset, p.count)));
}

Vector OperationBench::batch_statistics() { return floats_of(batch_statistics_); }

void OperationBench::note(const std::string& damage) {
  damage_ += (damage_.empty() ? "" : "; ") + damage;
}

std::string OperationBench::damage() {
  const auto look = [&](const Buffer& buffer, const char* what) {
    if (!buffer.intact()) note(std::string("written beyond ") + what);
  };
  look(values_, "the parameters");
  look(gradients_, "the parameter gradients");
  look(batch_statistics_, "the batch statistics");
  look(running_, "the running statistics");
  for (const Buffer& b : inputs_) look(b, "an input");
  for (const Buffer& b : output_) look(b, "the output");
  for (const Buffer& b : workspace_) look(b, "the workspace");
  for (const Buffer& b : output_gradients_) look(b, "an output gradient");
  for (const Buffer& b : input_gradients_) look(b, "an input gradient");
  for (const Buffer& b : addend_) look(b, "the addend");
  return damage_;
}

}  // namespace rueda::test
