#include <map>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
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

}  // namespace
}  // namespace rueda
