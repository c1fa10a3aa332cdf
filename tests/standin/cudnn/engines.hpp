#pragma once

#include <optional>

#include "descriptor.hpp"

namespace rueda::standin {

/// Refuses graphs for which there is no engine, and engines that do not exist.
void check_engine(const Descriptor& graph, std::int64_t index);

/// What is not stored but follows: heuristic results, notes of engines, sizes and text of plans.
/// Nothing if it is none of these.
std::optional<Value> derived_value(const Descriptor& descriptor, cudnnBackendAttributeName_t name);

}  // namespace rueda::standin
