#include <map>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "rueda/model/flops.hpp"
#include "rueda/model/registry.hpp"

namespace rueda {
namespace {

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
  CHECK_THROWS_AS(cifar_resnet(21, 32, 10), InputError);
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

TEST_CASE("flops: ResNet-18 at 32 pixels", "[flops]") {
  const Graph graph = build_model("resnet18", 32, 10);
  CHECK(double(forward_flops(graph)) / 1e9 == Approx(1.111).margin(0.0005));
  CHECK(double(training_flops(graph)) / 1e9 == Approx(3.329).margin(0.0005));
}

}  // namespace
}  // namespace rueda
