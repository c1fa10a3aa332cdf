#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "rueda/backend/backend.hpp"
#include "rueda/reduce/tree_order.hpp"

namespace rueda {

/// Adds the gradient arenas of one step's micro-batches in the tree order that the fixed-order
/// all-reduce uses over ranks. With one micro-batch it does nothing and owns nothing.
class GradientAccumulator {
 public:
  GradientAccumulator(Backend& backend, std::size_t arena_floats, std::size_t micro_batches);

  /// Takes the arena of the next micro-batch.
  void push(std::span<const float> arena);
  /// All have been pushed: writes the sum into `arena`.
  void finish(std::span<float> arena);

 private:
  void merge(std::size_t into, std::size_t from);
  std::span<float> slot(std::size_t i) { return slots_[i]->floats(); }

  ReduceDevice& device_;
  std::size_t micro_batches_;
  TreeOrder order_;
  std::vector<std::unique_ptr<Memory>> slots_;
};

}  // namespace rueda
