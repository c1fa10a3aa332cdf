#include "rueda/model/graph.hpp"

#include <map>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "model/flops.hpp"
#include "model/fusion.hpp"
#include "model/graph_builder.hpp"
#include "model/registry.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

TEST_CASE("graph: parameters lie in the order in which backward finishes them", "[graph]") {
  CHECK(names_of(small_option_a(8).parameters()) ==
        std::vector<std::string>{"linear.weight", "linear.bias", "b.bn2.weight", "b.bn2.bias",
                                 "b.conv2.weight", "b.bn1.weight", "b.bn1.bias", "b.conv1.weight",
                                 "a.bn2.weight", "a.bn2.bias", "a.conv2.weight", "a.bn1.weight",
                                 "a.bn1.bias", "a.conv1.weight", "bn.weight", "bn.bias",
                                 "conv.weight"});
}

TEST_CASE("graph: parameters are contiguous and nodes know theirs", "[graph]") {
  for (const SmallGraph& small : small_graphs()) {
    CAPTURE(small.name);
    const Graph graph = small.build(9);
    std::size_t offset = 0;
    for (const Parameter& p : graph.parameters()) {
      CHECK(p.offset == offset);
      offset += p.count;
    }
    CHECK(offset == graph.parameter_count());
    for (const Node& node : graph.nodes()) {
      if (const auto* conv = std::get_if<ConvNode>(&node.kind)) {
        CHECK(graph.parameter(conv->weight).name == node.name + ".weight");
        if (conv->bias != kNone) CHECK(graph.parameter(conv->bias).name == node.name + ".bias");
      } else if (const auto* bn = std::get_if<BatchNormNode>(&node.kind)) {
        CHECK(graph.parameter(bn->gamma).name == node.name + ".weight");
        CHECK(graph.parameter(bn->beta).name == node.name + ".bias");
      }
    }
  }
}

TEST_CASE("graph: statistics are contiguous in forward order", "[graph]") {
  const Graph graph = small_projection(9);
  std::size_t offset = 0;
  for (const Node& node : graph.nodes()) {
    const auto* bn = std::get_if<BatchNormNode>(&node.kind);
    if (bn == nullptr) continue;
    CHECK(bn->statistics_offset == offset);
    offset += 2 * std::size_t(node.output.channels);
  }
  CHECK(offset == graph.statistics_count());
}

TEST_CASE("graph: shapes, dimensions and fans", "[graph]") {
  GraphBuilder g("shapes", {3, 9, 10});
  const NodeId conv = g.conv("conv", g.input(),
                             {.filters = 8, .kernel = 7, .stride = 2, .padding = 3, .bias = true});
  CHECK(g.shape(conv) == Shape{8, 5, 5});
  const NodeId pool = g.max_pool("pool", conv, {3, 2, 1});
  CHECK(g.shape(pool) == Shape{8, 3, 3});
  CHECK(g.shape(g.max_pool("narrow", conv, {2, 2, 0})) == Shape{8, 2, 2});
  CHECK(g.shape(g.pad_shortcut("pad", conv, 12, 2)) == Shape{12, 3, 3});
  g.dense("dense", g.global_average_pool("average", pool), {.units = 4});
  const Graph graph = std::move(g).finish();
  const Parameter& weight = graph.parameter(std::get<ConvNode>(graph.node(conv).kind).weight);
  CHECK(weight.dims == std::vector<int>{8, 7, 7, 3});
  CHECK(weight.count == 8 * 7 * 7 * 3);
  CHECK(weight.fan_in == 7 * 7 * 3);
  CHECK(weight.fan_out == 7 * 7 * 8);
  CHECK(graph.parameter(0).dims == std::vector<int>{4, 8});
  CHECK(graph.parameter(0).fan_in == 8);
  CHECK(graph.parameter(0).fan_out == 4);
}

TEST_CASE("graph: what does not fit is refused by the layer's name", "[graph]") {
  GraphBuilder g("refusals", {4, 5, 5});
  const auto names = [](const std::string& layer) { return Catch::Contains("layer " + layer); };
  CHECK_THROWS_WITH(g.conv("wide", g.input(), {.filters = 4, .kernel = 7, .padding = 0}),
                    names("wide") && Catch::Contains("--image-size"));
  CHECK_THROWS_WITH(g.max_pool("pool", g.input(), {6, 1, 0}), names("pool"));
  CHECK_THROWS_WITH(g.pad_shortcut("odd", g.input(), 7, 1), names("odd"));
  CHECK_THROWS_WITH(g.pad_shortcut("fewer", g.input(), 2, 1), names("fewer"));
  const NodeId smaller = g.max_pool("half", g.input(), {2, 2, 0});
  CHECK_THROWS_WITH(g.add("sum", g.input(), smaller, true), names("sum"));
  CHECK_THROWS_AS(g.add("sum", g.input(), smaller, true), InputError);
}

TEST_CASE("models have the published numbers of parameters", "[model]") {
  // CIFAR networks with option A: He et al. round to 0.27, 0.46, 0.66, 0.85 and 1.7 million.
  const std::map<std::string, std::size_t> expected = {
      {"resnet20", 269'722},      {"resnet32", 464'154},       {"resnet44", 658'586},
      {"resnet56", 853'018},      {"resnet110", 1'727'962},    {"resnet18", 11'173'962},
      {"resnet50v2", 23'539'850}, {"resnet101v2", 42'549'386}, {"resnet152v2", 58'208'394}};
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const auto found = expected.find(name);
    if (found == expected.end()) continue;
    const Graph graph = build_model(name, 32, 10);
    CHECK(graph.parameter_count() == found->second);
    CHECK(graph.name() == name);
    CHECK(graph.classes() == 10);
  }
  CHECK(model_names().size() >= expected.size());
  CHECK(build_model("resnet18", 32, 10).statistics_count() == 9'600);
  // 2 * (16 * 7 + 32 * 6 + 64 * 6) running means and variances.
  CHECK(build_model("resnet20", 32, 10).statistics_count() == 1'376);
}

TEST_CASE("Keras' networks have its totals, with 10 and with 1000 classes", "[model]") {
  struct Totals {
    const char* name;
    std::size_t statistics, ten, thousand;
  };
  for (const Totals& t : {Totals{"resnet50v2", 45'440, 23'585'290, 25'613'800},
                          Totals{"resnet101v2", 97'664, 42'647'050, 44'675'560},
                          Totals{"resnet152v2", 143'744, 58'352'138, 60'380'648}}) {
    CAPTURE(t.name);
    const Graph ten = build_model(t.name, 128, 10);
    CHECK(ten.statistics_count() == t.statistics);
    CHECK(ten.parameter_count() + ten.statistics_count() == t.ten);
    const Graph thousand = build_model(t.name, 224, 1000);
    CHECK(thousand.parameter_count() + thousand.statistics_count() == t.thousand);
  }
}

TEST_CASE("models begin with their origin's initialisation", "[model]") {
  const auto inits = [](const std::string& name) {
    std::map<std::pair<std::size_t, Init>, int> count;  // by axes: kernels, dense weights, vectors
    const Graph graph = build_model(name, 32, 10);
    for (const Parameter& p : graph.parameters()) ++count[{p.dims.size(), p.init}];
    return count;
  };
  using Count = std::map<std::pair<std::size_t, Init>, int>;
  // Keras: kernels Glorot, biases and betas zero, gammas one. 49 batch norms, 53 convolutions of
  // which 21 have a bias (the stem, 4 projections, 16 last ones of blocks).
  CHECK(inits("resnet50v2") == Count{{{4, Init::glorot_uniform}, 53},
                                     {{2, Init::glorot_uniform}, 1},
                                     {{1, Init::zeros}, 49 + 21 + 1},
                                     {{1, Init::ones}, 49}});
  // PyTorch's defaults: all weights, and the classifier's bias, by the inputs.
  CHECK(inits("resnet18") == Count{{{4, Init::fan_in_uniform}, 20},
                                   {{2, Init::fan_in_uniform}, 1},
                                   {{1, Init::fan_in_uniform}, 1},
                                   {{1, Init::zeros}, 20},
                                   {{1, Init::ones}, 20}});
}

TEST_CASE("models halve the image as published", "[model]") {
  const auto last_image = [](const std::string& name, int image_size) {
    const Graph graph = build_model(name, image_size, 10);
    return graph.shape(graph.logits() - 2);
  };
  CHECK(last_image("resnet20", 32) == Shape{64, 8, 8});
  CHECK(last_image("resnet18", 32) == Shape{512, 4, 4});
  CHECK(last_image("resnet18", 128) == Shape{512, 16, 16});
  CHECK(last_image("resnet20", 33) == Shape{64, 9, 9});
  CHECK(last_image("resnet50v2", 128) == Shape{2048, 4, 4});
  CHECK(last_image("resnet152v2", 224) == Shape{2048, 7, 7});
}

TEST_CASE("models that do not exist are refused by name", "[model]") {
  CHECK_THROWS_WITH(build_model("resnet21", 32, 10), Catch::Contains("unknown model 'resnet21'") &&
                                                         Catch::Contains("resnet20, resnet32"));
  CHECK_THROWS_AS(build_model("resnet20", 0, 10), InputError);
  CHECK_THROWS_AS(build_model("resnet20", 32, 0), InputError);
}

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

/// FLOPs and bytes of each kernel.
std::vector<std::pair<double, double>> kernels(const Graph& graph, NodeId id, Pass pass) {
  std::vector<std::pair<double, double>> found;
  for (const Work& work : work_of(graph, id, pass, 5, 2))
    found.emplace_back(work.flops, work.bytes);
  return found;
}

TEST_CASE("work: each kernel of a layer by hand, for 5 images of 2-byte elements", "[flops]") {
  using Kernels = std::vector<std::pair<double, double>>;
  using enum Pass;
  GraphBuilder g("forked", {3, 8, 8});
  const NodeId first = g.conv("first", g.input(), {.filters = 4, .kernel = 3});
  const NodeId norm = g.batch_norm("norm", first, {.relu = true});
  const NodeId strided =
      g.conv("strided", norm, {.filters = 6, .kernel = 1, .stride = 2, .padding = 0});
  const NodeId padded = g.pad_shortcut("padded", norm, 6, 2);
  const NodeId sum = g.add("sum", strided, padded, true);
  const NodeId plain = g.add("plain", sum, strided, false);
  const NodeId pool = g.max_pool("pool", plain, {.kernel = 2, .stride = 2});
  const NodeId mean = g.global_average_pool("mean", pool);
  const NodeId dense = g.dense("dense", mean, {.units = 10});
  const Graph graph = std::move(g).finish();
  constexpr double kImage = 3 * 64, kWide = 4 * 64, kSmall = 6 * 16, kTiny = 6 * 4;
  constexpr double kFirst = 2.0 * 5 * kWide * 27, kStrided = 2.0 * 5 * kSmall * 4;
  CHECK(kernels(graph, first, forward) == Kernels{{kFirst, 10 * (kImage + kWide) + 2 * 108}});
  // The image needs no gradient.
  CHECK(kernels(graph, first, backward) == Kernels{{kFirst, 10 * (kImage + kWide) + 4 * 108}});
  CHECK(kernels(graph, norm, forward) == Kernels{{0, 10 * kWide}, {0, 20 * kWide}});
  CHECK(kernels(graph, norm, recompute) == Kernels{{0, 20 * kWide}});
  CHECK(kernels(graph, norm, backward) == Kernels{{0, 20 * kWide}, {0, 30 * kWide}});
  // It reads a quarter of the pixels, writes a gradient of all, and adds that of the shortcut.
  CHECK(kernels(graph, strided, forward) == Kernels{{kStrided, 10 * (64 + kSmall) + 2 * 24}});
  CHECK(kernels(graph, strided, backward) ==
        Kernels{{kStrided, 10 * (64 + kSmall) + 4 * 24},
                {kStrided, 10 * (2 * kWide + kSmall) + 2 * 24}});
  CHECK(kernels(graph, padded, forward) == Kernels{{0, 10 * (64 + kSmall)}});
  CHECK(kernels(graph, padded, backward) == Kernels{{0, 10 * (kWide + kSmall)}});
  CHECK(kernels(graph, sum, backward) == Kernels{{0, 40 * kSmall}});
  CHECK(kernels(graph, plain, forward) == Kernels{{0, 30 * kSmall}});
  CHECK(kernels(graph, plain, backward).empty());
  CHECK(kernels(graph, pool, backward) == Kernels{{0, 10 * (kSmall + 2 * kTiny)}});
  CHECK(kernels(graph, mean, forward) == Kernels{{0, 10 * (kTiny + 6)}});
  CHECK(kernels(graph, dense, backward) ==
        Kernels{{2.0 * 5 * 60, 10 * 16 + 4 * 70}, {2.0 * 5 * 60, 10 * 16 + 2 * 70}});
  GraphBuilder h("residual", {3, 8, 8});
  const NodeId early = h.conv("early", h.input(), {.filters = 4});
  const NodeId late = h.conv("late", early, {.filters = 4});
  h.add("joined", h.batch_norm("last", late, {}), early, true);
  const Graph fused = fuse_additions(std::move(h).finish(), {.batch_norm_adds = true});
  const NodeId joined = fused.logits();
  CHECK(kernels(fused, joined, forward) == Kernels{{0, 10 * kWide}, {0, 30 * kWide}});
  CHECK(kernels(fused, joined, recompute) == Kernels{{0, 30 * kWide}});
  // The sums need the mask, and leave the gradient of the residual.
  CHECK(kernels(fused, joined, backward) == Kernels{{0, 40 * kWide}, {0, 30 * kWide}});
  CHECK(kernels(fused, late, backward)[1].second == 30 * kWide + 2 * 144);
  // One kernel waits for arithmetic, the other for memory.
  CHECK(Roof{.flops = 10, .bytes = 2}.seconds({{100, 4}, {10, 6}}) == 10 + 3);
}

TEST_CASE("flops: ResNet-18 at 32 pixels", "[flops]") {
  const Graph graph = build_model("resnet18", 32, 10);
  CHECK(double(forward_flops(graph)) / 1e9 == Approx(1.111).margin(0.0005));
  CHECK(double(training_flops(graph)) / 1e9 == Approx(3.329).margin(0.0005));
}

}  // namespace
}  // namespace rueda::test
