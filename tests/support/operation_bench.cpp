#include "operation_bench.hpp"

#include <algorithm>
#include <cstring>

#include "random_tensor.hpp"

namespace rueda::test {
namespace {

constexpr std::size_t kGuard = 256;  ///< bytes on each side: more than any kernel's vector
constexpr int kPoison = 0xFF;        ///< two of these are a NaN in bf16, four in fp32

bool all_poison(const std::byte* from, std::size_t bytes) {
  return std::all_of(from, from + bytes, [](std::byte b) { return b == std::byte{kPoison}; });
}

void copy_into(std::span<float> to, const Vector& values) {
  for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<float>(values[i]);
}

}  // namespace

std::string to_string(cpu::ActivationLayout layout) {
  switch (layout) {
    case cpu::ActivationLayout::blocked8:
      return "blocked8";
    case cpu::ActivationLayout::blocked16:
      return "blocked16";
    case cpu::ActivationLayout::channels_last:
      return "channels_last";
  }
  return "?";
}

OperationBench::Buffer::Buffer(Backend& backend, std::size_t bytes)
    : memory_(backend.allocate(bytes + 2 * kGuard)), bytes_(bytes) {
  std::memset(memory_->data(), kPoison, memory_->size());
}

std::byte* OperationBench::Buffer::data() const { return memory_->data() + kGuard; }

std::span<float> OperationBench::Buffer::floats() const {
  return {reinterpret_cast<float*>(data()), bytes_ / sizeof(float)};
}

void OperationBench::Buffer::poison() const { std::memset(data(), kPoison, bytes_); }

bool OperationBench::Buffer::intact() const {
  return all_poison(memory_->data(), kGuard) && all_poison(data() + bytes_, kGuard);
}

OperationBench::OperationBench(const BenchCase& c)
    : case_(c),
      backend_({.threads = 1, .layout = c.layout, .precision = c.precision}),
      operation_(backend_.make_operation(case_.graph, case_.node, case_.batch, case_.mode)),
      values_(backend_, case_.graph.parameter_count() * sizeof(float)),
      gradients_(backend_, case_.graph.parameter_count() * sizeof(float)),
      batch_statistics_(backend_, case_.graph.statistics_count() * sizeof(float)),
      running_(backend_, case_.graph.statistics_count() * sizeof(float)) {
  copy_into(values_.floats(), case_.parameters);
  copy_into(running_.floats(), case_.running);
  backend_.bind_parameters(case_.graph, {values_.floats(), gradients_.floats(),
                                         batch_statistics_.floats(), running_.floats()});
  backend_.pack_parameters();
  bind();
}

OperationBench::Buffer OperationBench::activation(NodeId node) {
  return {backend_, backend_.activation_bytes(case_.graph, node, case_.batch)};
}

void OperationBench::bind() {
  const OperationNeeds needs = operation_->needs();
  OperationMemory m;
  for (const NodeId input : input_nodes()) {
    m.inputs.push_back(inputs_.emplace_back(activation(input)).data());
  }
  m.output = output_.emplace_back(activation(case_.node)).data();
  if (needs.workspace_bytes > 0) {
    m.workspace = workspace_.emplace_back(Buffer(backend_, needs.workspace_bytes)).data();
  }
  const bool train = case_.mode == Mode::train;
  for (int i = 0; train && i < case_.output_gradients; ++i) {
    m.output_gradients.push_back(output_gradients_.emplace_back(activation(case_.node)).data());
  }
  for (const NodeId input : input_nodes()) {
    if (!train || (needs.shares_input_gradient && !m.input_gradients.empty())) break;
    const bool wanted = input != case_.graph.input();
    Buffer& buffer = input_gradients_.emplace_back(activation(input));
    m.input_gradients.push_back(wanted ? buffer.data() : nullptr);
  }
  operation_->bind(m);
}

void OperationBench::write(const Tensor& values, NodeId node, const Buffer& to) {
  backend_.write_activation(case_.graph, node, case_.batch, to_floats(values.values), to.data());
}

/// Reading drops the padding and writing zeroes it, so a round trip changes nothing exactly if it
/// is zero already.
Tensor OperationBench::read(NodeId node, const Buffer& from) {
  Tensor t(case_.batch, case_.graph.shape(node));
  std::vector<float> plain(t.size());
  backend_.read_activation(case_.graph, node, case_.batch, from.data(), plain);
  t.values = to_doubles(plain);
  const Buffer again = activation(node);
  write(t, node, again);
  if (std::memcmp(again.data(), from.data(), from.bytes()) != 0) {
    padding_damage_ = "padding of " + case_.graph.node(node).name + " is not zero";
  }
  return t;
}

Tensor OperationBench::forward(const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) write(inputs[i], input_nodes()[i], inputs_[i]);
  output_.front().poison();
  operation_->forward();
  return read(case_.node, output_.front());
}

std::vector<Tensor> OperationBench::backward(const std::vector<Tensor>& output_gradients) {
  for (std::size_t i = 0; i < output_gradients.size(); ++i) {
    write(output_gradients[i], case_.node, output_gradients_[i]);
  }
  const OperationNeeds needs = operation_->needs();
  if (!needs.keeps_output) output_.front().poison();
  for (const Buffer& input : inputs_) {
    if (!needs.keeps_input) input.poison();
  }
  operation_->backward();
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < input_gradients_.size(); ++i) {
    result.push_back(read(input_nodes()[i], input_gradients_[i]));
  }
  return result;
}

Vector OperationBench::parameter_gradient(ParameterId id) const {
  const Parameter& p = case_.graph.parameter(id);
  return to_doubles(gradients_.floats().subspan(p.offset, p.count));
}

Vector OperationBench::batch_statistics() const { return to_doubles(batch_statistics_.floats()); }

std::string OperationBench::damage() const {
  std::string found = padding_damage_;
  const auto look = [&](const Buffer& buffer, const char* what) {
    if (!buffer.intact()) found += std::string("; written beyond ") + what;
  };
  look(values_, "the parameters");
  look(gradients_, "the parameter gradients");
  look(batch_statistics_, "the batch statistics");
  look(running_, "the running statistics");
  for (const Buffer& b : output_) look(b, "the output");
  for (const Buffer& b : workspace_) look(b, "the workspace");
  for (const Buffer& b : input_gradients_) look(b, "an input gradient");
  return found;
}

}  // namespace rueda::test
