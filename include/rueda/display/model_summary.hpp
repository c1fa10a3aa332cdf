#pragma once

#include <cstddef>
#include <string>

#include "rueda/model/graph.hpp"

namespace rueda {

/// What `rueda summary` prints: a line per layer (name, type, output as channels x height x width,
/// parameters, MFLOP of forward per image), then totals per image and per batch. A batch norm's
/// running statistics count as non-trainable parameters; its line shows the trainable ones.
std::string model_summary(const Graph& graph, std::size_t batch_per_rank);

}  // namespace rueda
