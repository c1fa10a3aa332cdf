#pragma once

#include <vector>

#include "device_values.hpp"
#include "rueda/backend/gradient_arena.hpp"

namespace rueda::test {

/// Arenas for a program without a replica.
struct ProgramArenas {
  ProgramArenas(Backend& backend, const Graph& graph)
      : lead(GradientLayout(graph).lead()),
        parameters(backend, std::vector<float>(lead + graph.parameter_count())),
        gradients(backend, std::vector<float>(lead + graph.parameter_count())),
        batch_statistics(backend, std::vector<float>(graph.statistics_count())),
        running(backend, std::vector<float>(graph.statistics_count())) {}
  ParameterMemory memory() const {
    return {parameters.span().subspan(lead), gradients.span().subspan(lead),
            batch_statistics.span(), running.span()};
  }
  std::size_t lead;
  DeviceFloats parameters, gradients, batch_statistics, running;
};

}  // namespace rueda::test
