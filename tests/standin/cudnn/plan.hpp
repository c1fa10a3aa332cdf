#pragma once

#include "operation.hpp"

namespace rueda::standin {

/// The operations of a finished OPERATIONGRAPH in an order in which each finds what it reads.
/// Refuses tensors that no operation makes, that two make, or that are described in two ways.
std::vector<Operation> operations_in_order(const Descriptor& graph);

/// A graph on an engine, ready to be executed.
class Plan {
 public:
  /// Refuses what is no ENGINECFG of the stand-in's.
  explicit Plan(const Descriptor& engine_config);

  /// Engine 0 needs none.
  std::size_t workspace_bytes() const;

  /// What is to be done with these pointers. Refuses pointers that are missing, misaligned or not of device memory. `workspace` is overwritten.
  std::function<void()> bind(const Bindings::Pointers& pointers, void* workspace) const;

 private:
  std::shared_ptr<const std::vector<Operation>> operations_;
  std::map<std::int64_t, TensorSpec> tensors_;
  std::int64_t engine_;
};

/// What is not stored but follows: heuristic results, notes of engines, sizes of plans; else what
/// was set.
Value value_of(const Descriptor& descriptor, cudnnBackendAttributeName_t name);

/// Refuses graphs for which the heuristics have no engine.
void check_pattern(const Descriptor& graph);

}  // namespace rueda::standin
