#include "rueda/model/flops.hpp"

#include <catch2/catch.hpp>

#include "rueda/model/registry.hpp"

using namespace rueda;

TEST_CASE("flops: convolution and dense by hand, the rest nothing", "[flops]") {
  GraphBuilder g("small", {3, 8, 8});
  const NodeId conv = g.conv("conv", g.input(), {.filters = 4, .kernel = 3, .stride = 2});
  const NodeId norm = g.batch_norm("norm", conv, {.relu = true});
  const NodeId second =
      g.conv("second", norm, {.filters = 6, .kernel = 1, .stride = 1, .padding = 0, .bias = true});
  const NodeId pool = g.global_average_pool("pool", second);
  const NodeId dense = g.dense("dense", pool, {.units = 10});
  const Graph graph = std::move(g).finish();
  CHECK(forward_flops(graph, conv) == 2 * 4 * 4 * 4 * 3 * 3 * 3);
  CHECK(forward_flops(graph, second) == 2 * 6 * 4 * 4 * 4);
  CHECK(forward_flops(graph, dense) == 2 * 10 * 6);
  CHECK(forward_flops(graph, norm) == 0);
  CHECK(forward_flops(graph, pool) == 0);
  CHECK(forward_flops(graph) == 3456 + 768 + 120);
  CHECK(training_flops(graph) == 2 * 3456 + 3 * (768 + 120));
}

TEST_CASE("flops: ResNet-18 at 32 pixels", "[flops]") {
  const Graph graph = build_model("resnet18", 32, 10);
  CHECK(static_cast<double>(forward_flops(graph)) / 1e9 == Approx(1.111).margin(0.0005));
  CHECK(static_cast<double>(training_flops(graph)) / 1e9 == Approx(3.329).margin(0.0005));
}
