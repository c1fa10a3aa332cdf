#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// Training keeps what backward needs and uses batch statistics; inference
/// keeps nothing and uses the running ones.
enum class Mode { train, infer };

/// The node of a graph that is to become an operation for `batch` images. The
/// graph outlives it.
struct NodeRequest {
  const Graph& graph;
  NodeId node;
  int batch;
  Mode mode;

  const Node& self() const { return graph.node(node); }
  NodeId input(std::size_t i = 0) const { return self().inputs.at(i); }
};

/// Throws RunError naming the layer unless its inputs lie as every backend expects: convolutions
/// alone read the image, and dense layers, and only these, what follows a global average pool.
void require_known_inputs(const NodeRequest& request);

/// What an operation asks of the memory plan.
struct OperationNeeds {
  std::size_t workspace_bytes = 0;  ///< kept from its forward to its backward
  bool keeps_input = false;         ///< backward reads the first input's activation
  bool keeps_output = false;        ///< backward reads the output activation
  /// Backward takes the output gradient as two summands (from two readers of the output).
  bool sums_gradients = false;
  /// All inputs receive the same gradient, so they share one buffer.
  bool shares_input_gradient = false;
  /// Bit i: the gradient of input i is that of the output itself; backward need not write it.
  unsigned passes_gradient = 0;
  /// Backward can add what another reader of its first input contributed to that one's gradient.
  bool adds_to_gradient = false;
  /// Backward goes on beside that of later nodes, until `finish_backward`: till then it reads all
  /// that it needs, and this node's slices of the gradient arena are not complete.
  bool goes_on = false;
};

/// Where an operation's tensors lie. Unused pointers are null.
struct OperationMemory {
  std::vector<std::byte*> inputs;
  std::byte* output = nullptr;
  std::byte* workspace = nullptr;
  std::vector<std::byte*> output_gradients;  ///< one, or two where `sums_gradients`
  /// One per input, or one in all where they share it; null: skip. A passed one is the output's.
  std::vector<std::byte*> input_gradients;
  const std::byte* gradient_addend = nullptr;  ///< goes into the first input's gradient as well
};

/// What a convolution computes: its output, the gradient of its input, that of its weights.
enum class Product { forward, data, weights };
constexpr auto words_of(Product) { return std::array{"forward", "data", "weights"}; }

/// One node of a graph, planned for a batch size on a backend, and bound to memory once.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual OperationNeeds needs() const = 0;
  virtual void bind(const OperationMemory& memory) = 0;
  virtual void forward() = 0;
  /// Writes the output once more, from the same inputs, with the same bits.
  virtual void recompute() { forward(); }
  /// Overwrites the input gradients and this node's slices of the gradient arena.
  virtual void backward() = 0;
  /// What comes after it finds a backward that goes on (OperationNeeds) at its end.
  virtual void finish_backward() {}
  /// Computes one product alone, without what comes before and after it, from
  /// whatever lies in its memory. False: there is none.
  virtual bool run(Product) { return false; }
};

}  // namespace rueda
