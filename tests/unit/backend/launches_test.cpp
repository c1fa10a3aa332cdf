#include "backend/launches.hpp"

#include <catch2/catch.hpp>

#include "model/gpu_fusion.hpp"
#include "model/graph_builder.hpp"
#include "model/registry.hpp"

using namespace rueda;

namespace {

std::vector<LaunchKind> kinds_of(const std::vector<StepLaunch>& step, NodeId node) {
  std::vector<LaunchKind> kinds;
  for (const StepLaunch& s : step)
    if (s.node == node) kinds.push_back(s.launch.kind);
  return kinds;
}

/// image -> convolution with bias -> batch norm -> pool -> dense
Graph chain() {
  GraphBuilder g("chain", {3, 8, 8});
  const NodeId conv = g.conv("conv", g.input(), {.filters = 8, .bias = true});
  const NodeId norm = g.batch_norm("norm", conv, {.relu = true});
  g.dense("fc", g.global_average_pool("pool", norm), {.units = 10});
  return std::move(g).finish();
}

}  // namespace

TEST_CASE("launches: products are what training multiplies", "[launches]") {
  for (const char* model : {"resnet18", "resnet20", "resnet50v2"}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      CAPTURE(model, to_string(precision));
      const Graph graph = fuse_additions(build_model(model, 32, 10), kGpuFusions);
      double flops = 0;
      for (const auto& [node, launch] : step_launches(graph, 4, precision, Epilogue::adds))
        flops += launch.flops;
      double zeros = 0;  // after windows
      if (const auto w = windows_of(graph, 1, precision))
        zeros = double(forward_flops(graph, 1)) * (double(w->stored) / w->values - 1);
      // By a kernel of rueda's own, which is priced by its bytes.
      const auto outputs = double(forward_flops(graph, graph.logits()));
      const double products = double(training_flops(graph)) - outputs + 2 * zeros;
      CHECK(flops == Approx(4 * products).epsilon(1e-12));
    }
  }
}

TEST_CASE("launches: what an epilogue does is no kernel's work", "[launches]") {
  using enum LaunchKind;
  const Graph graph = chain();
  const auto step = [&](Epilogue e) { return step_launches(graph, 2, Precision::tf32, e); };
  const auto norm = [&](LaunchKind first) {
    return std::vector{first, norm_apply, norm_gradient_sums, norm_input_gradient};
  };
  CHECK(kinds_of(step(Epilogue::none), 1) ==
        std::vector{unroll_rows, conv_forward, add_bias, conv_weights, drop_channels});
  for (const Epilogue e : {Epilogue::adds, Epilogue::sums})
    CHECK(kinds_of(step(e), 1) ==
          std::vector{unroll_rows, conv_forward, conv_weights, drop_channels});
  CHECK(kinds_of(step_launches(graph, 2, Precision::fp32, Epilogue::adds), 1) ==
        std::vector{conv_forward, conv_weights});
  CHECK(kinds_of(step(Epilogue::adds), 2) == norm(norm_statistics));
  CHECK(kinds_of(step(Epilogue::sums), 2) == norm(norm_finish_sums));
  const auto clears = [&](Epilogue e) {
    const auto kinds = kinds_of(step(e), graph.input());
    return std::ranges::count(kinds, clear) == 1;
  };
  CHECK(clears(Epilogue::sums));
  CHECK_FALSE(clears(Epilogue::adds));
}

TEST_CASE("launches: windows of an image, whole packs of 16 bytes", "[launches]") {
  const Graph of_32 = build_model("resnet18", 32, 10);
  const kernels::RowWindows w = windows_of(of_32, 1, Precision::bf16).value();
  CHECK(std::tuple(w.row, w.count, w.step, w.before) == std::tuple(96, 32, 3, 3));
  CHECK(std::pair(w.values, w.stored) == std::pair(9, 16));
  CHECK(windows_of(of_32, 1, Precision::tf32).value().stored == 12);
  CHECK_FALSE(windows_of(of_32, 1, Precision::fp32));
  CHECK_FALSE(windows_of(of_32, of_32.readers(1).front() + 1, Precision::bf16));
  const Graph of_128 = build_model("resnet50v2", 128, 10);
  const kernels::RowWindows stem = windows_of(of_128, 1, Precision::bf16).value();
  CHECK(std::tuple(stem.row, stem.count, stem.step, stem.before) == std::tuple(384, 64, 6, 9));
  CHECK(std::pair(stem.values, stem.stored) == std::pair(21, 24));
}
