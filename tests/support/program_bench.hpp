#pragma once

#include <memory>
#include <vector>

#include "program_arenas.hpp"
#include "replica_bench.hpp"
#include "rueda/backend/program.hpp"

namespace rueda::test {

/// What a program is run on: a backend of its own, a batch, parameters.
struct ProgramInput {
  Variant variant;
  const ImageSet& images;
  std::vector<std::uint32_t> indices;
  Vector parameters;
  float scale;
};

struct ProgramStep {
  double loss = 0;
  Vector gradients;
  Vector statistics;
};

/// One training step of exactly this graph, which a replica would prepare first.
inline ProgramStep run_program(const Graph& graph, const ProgramInput& in) {
  const auto backend = open_backend_under_test(in.variant, Precision::fp32);
  Program program(graph, *backend, static_cast<int>(in.indices.size()), Mode::train);
  const ProgramArenas arenas(*backend, graph);
  backend->upload(arenas.memory().values, to_floats(in.parameters));
  backend->bind_parameters(graph, arenas.memory());
  backend->pack_parameters();
  const auto pool = backend->allocate(program.pool_bytes());
  program.bind(pool->data());
  const auto held = backend->hold(in.images);
  backend->make_batch(
      {held.get(), in.indices, plain_transform(graph.shape(graph.input()).height), 0, 0},
      program.input(), program.labels());
  program.forward();
  const DeviceValues<LossSums> sums(*backend, {LossSums{}});
  const DeviceFloats scale(*backend, {in.scale});
  backend->softmax_cross_entropy({.logits = program.logits(),
                                  .labels = program.labels(),
                                  .rows = program.batch(),
                                  .classes = graph.classes(),
                                  .sums = sums.data(),
                                  .scale = scale.data(),
                                  .gradient = program.logits_gradient()});
  program.backward();
  return {static_cast<double>(sums.read().front().loss),
          to_doubles(read_floats(*backend, arenas.memory().gradients)),
          to_doubles(read_floats(*backend, arenas.memory().batch_statistics))};
}

}  // namespace rueda::test
