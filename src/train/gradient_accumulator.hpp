#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rueda/backend/backend.hpp"
#include "rueda/reduce/tree_order.hpp"

namespace rueda {

/// Adds the gradient arenas of one step's micro-batches in the tree order that
/// the fixed-order all-reduce uses over ranks. With one micro-batch it does
/// nothing and owns nothing.
class GradientAccumulator {
 public:
  GradientAccumulator(Backend& backend, std::size_t arena_floats, std::size_t micro_batches)
      : device_(backend.reduce_device()) {
    if (micro_batches == 1) return;
    for (std::size_t i = 0; i < TreeOrder::slots_needed(micro_batches); ++i)
      slots_.push_back(backend.allocate(arena_floats * sizeof(float)));
  }

  /// Takes the arena of the next micro-batch.
  void push(std::span<const float> arena) {
    if (slots_.empty()) return;
    device_.join();  // the backward pass wrote the arena
    device_.copy(slot(order_.next_slot()), arena);
    order_.push([this](std::size_t into, std::size_t from) { merge(into, from); });
    device_.join();  // the next one writes it again
  }

  /// All have been pushed: writes the sum into `arena`.
  void finish(std::span<float> arena) {
    if (slots_.empty()) return;
    order_.finish([this](std::size_t into, std::size_t from) { merge(into, from); });
    device_.copy(arena, slot(0));
    device_.join();
  }

 private:
  void merge(std::size_t into, std::size_t from) { device_.add(slot(into), slot(from)); }
  std::span<float> slot(std::size_t i) { return slots_[i].floats(); }

  ReduceDevice& device_;
  TreeOrder order_;
  std::vector<Memory> slots_;  ///< none with one micro-batch
};

}  // namespace rueda
