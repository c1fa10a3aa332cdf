#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu_backend.hpp"
#include "reference_ops.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::test {

inline constexpr cpu::ActivationLayout kLayouts[] = {cpu::ActivationLayout::blocked8,
                                                     cpu::ActivationLayout::blocked16,
                                                     cpu::ActivationLayout::channels_last};
std::string to_string(cpu::ActivationLayout layout);

/// What a bench runs: `node` of `graph`, whose parameters have these values.
struct BenchCase {
  const Graph& graph;
  NodeId node;
  int batch;
  cpu::ActivationLayout layout;
  Vector parameters;
  Mode mode = Mode::train;
  Vector running = {};
  int output_gradients = 1;
  Precision precision = Precision::fp32;
};

/// One node of a graph on a CPU backend, alone, on buffers of its own. Whatever the operation must
/// write is filled with NaN before, and everything lies between guards.
class OperationBench {
 public:
  explicit OperationBench(const BenchCase& c);

  OperationNeeds needs() const { return operation_->needs(); }
  Tensor forward(const std::vector<Tensor>& inputs);
  /// The gradients of the inputs; one for all where they share it.
  std::vector<Tensor> backward(const std::vector<Tensor>& output_gradients);
  Vector parameter_gradient(ParameterId id) const;
  Vector batch_statistics() const;
  /// Empty if nothing was written beyond any buffer and the channels that pad a layout's last block
  /// were zero in everything put out (later kernels rely on it); else what is wrong.
  std::string damage() const;

 private:
  /// A guarded block of numbers of either type, all NaN at first.
  class Buffer {
   public:
    Buffer(Backend& backend, std::size_t bytes);
    std::byte* data() const;
    std::span<float> floats() const;
    std::size_t bytes() const { return bytes_; }
    void poison() const;
    bool intact() const;

   private:
    std::unique_ptr<Memory> memory_;
    std::size_t bytes_;
  };

  void bind();
  Buffer activation(NodeId node);
  void write(const Tensor& values, NodeId node, const Buffer& to);
  Tensor read(NodeId node, const Buffer& from);
  const std::vector<NodeId>& input_nodes() const { return case_.graph.node(case_.node).inputs; }

  BenchCase case_;
  cpu::CpuBackend backend_;
  std::unique_ptr<Operation> operation_;
  Buffer values_, gradients_, batch_statistics_, running_;
  std::string padding_damage_;
  std::vector<Buffer> inputs_, output_, workspace_, output_gradients_, input_gradients_;
};

}  // namespace rueda::test
