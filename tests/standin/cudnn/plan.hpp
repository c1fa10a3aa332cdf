#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operation.hpp"

namespace rueda::standin {

/// The operations of a finished OPERATIONGRAPH in an order in which each finds what it reads.
/// Refuses tensors that nobody makes, that two make, or that are described in two ways.
std::vector<Operation> operations_in_order(const Descriptor& graph);

/// A graph on an engine, ready to be executed.
class Plan {
 public:
  Plan(const Descriptor& graph, std::int64_t engine);

  /// Engine 0 needs none.
  std::size_t workspace_bytes() const;

  /// What is to be done with these pointers. Values that are passed by value are read now. Refuses
  /// pointers that are missing, misaligned or not of device memory. `workspace` is overwritten.
  std::function<void()> bind(const Bindings::Pointers& pointers, void* workspace) const;

 private:
  std::shared_ptr<const std::vector<Operation>> operations_;
  std::map<std::int64_t, TensorSpec> tensors_;
  std::int64_t engine_;
};

/// A plan as text and back; it holds the whole graph, so another process can use it.
std::string plan_to_json(const Descriptor& engine_config);
DescriptorPtr engine_config_from_json(const std::string& text);

/// Graph and engine of an ENGINECFG.
std::shared_ptr<const Plan> make_plan(const Descriptor& engine_config);

}  // namespace rueda::standin
