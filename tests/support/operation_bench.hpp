#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend_under_test.hpp"
#include "reference_ops.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::test {

/// What a bench runs: `node` of `graph`, whose parameters have these values.
struct BenchCase {
  const Graph& graph;
  NodeId node;
  int batch;
  Variant variant;
  Vector parameters;
  Mode mode = Mode::train;
  Vector running = {};
  int output_gradients = 1;
  Precision precision = Precision::fp32;
  bool gradient_addend = false;  ///< backward gets one, where the operation takes it
};

/// One node of a graph on the backend under test, alone, on buffers of its own. Whatever the
/// operation must write is filled with NaN before, and everything lies between guards.
class OperationBench {
 public:
  explicit OperationBench(const BenchCase& c);

  OperationNeeds needs() const { return operation_->needs(); }
  Tensor forward(const std::vector<Tensor>& inputs);
  /// The gradients of the inputs; one for all where they share it, none of those that are the
  /// output's own. `addend` goes into the first.
  std::vector<Tensor> backward(const std::vector<Tensor>& output_gradients,
                               const Tensor& addend = {});
  Vector parameter_gradient(ParameterId id);
  Vector batch_statistics();
  /// Empty if nothing was written beyond any buffer nor into what backward only reads, and the
  /// channels that pad a layout were zero in everything put out (later kernels rely on it); else
  /// what is wrong.
  std::string damage();

 private:
  /// A guarded block of numbers of either type, all NaN at first.
  class Buffer {
   public:
    /// `lead` bytes at its beginning belong to the guard: for places that are less aligned.
    Buffer(Backend& backend, std::size_t bytes, std::size_t lead = 0);
    std::byte* data() const;
    std::span<float> floats() const;
    std::size_t bytes() const { return bytes_; }
    std::vector<std::byte> read() const;
    void poison() const;
    bool intact() const;

   private:
    std::unique_ptr<Memory> memory_;
    std::size_t bytes_;
    std::size_t front_;
  };

  void bind();
  void bind_input_gradients(OperationMemory& memory);
  Buffer arena(std::size_t floats, std::size_t lead = 0);
  Buffer activation(NodeId node);
  void fill(const Buffer& to, const Vector& values);
  Vector floats_of(const Buffer& from);
  void write(const Tensor& values, NodeId node, const Buffer& to);
  Tensor read(NodeId node, const Buffer& from);
  bool passes_gradient(std::size_t input) const;
  void run_backward();
  void note(const std::string& damage);
  const std::vector<NodeId>& input_nodes() const { return case_.graph.node(case_.node).inputs; }

  BenchCase case_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Operation> operation_;
  std::size_t lead_;
  Buffer values_, gradients_, batch_statistics_, running_;
  std::string damage_;
  std::vector<Buffer> inputs_, output_, workspace_, output_gradients_, input_gradients_, addend_;
};

}  // namespace rueda::test
