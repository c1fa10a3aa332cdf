#include "model/weights/origin_tensors.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "../../support/common.hpp"
#include "../../support/small_graphs.hpp"
#include "model/registry.hpp"

namespace rueda::test {
namespace {

using Sizes = std::vector<std::size_t>;

const OriginTensor& named(const std::vector<OriginTensor>& tensors, const std::string& name) {
  return *std::ranges::find(tensors, name, &OriginTensor::name);
}

/// Every element says where it lies. Whole numbers up to 2^24 are exact.
std::vector<float> places(std::size_t count) { return numbered(count, 0); }

std::vector<float> taken(const OriginTensor& tensor, const std::vector<float>& parameters,
                         const std::vector<float>& statistics) {
  std::vector<float> out(tensor.elements());
  to_origin(tensor, parameters, statistics, out);
  return out;
}

std::size_t offset_of(const Graph& graph, const std::string& name) {
  for (const Parameter& p : graph.parameters())
    if (p.name == name) return p.offset;
  throw std::logic_error("no parameter " + name);
}

}  // namespace

TEST_CASE("origin tensors: PyTorch's names and shapes, module by module", "[weights]") {
  const auto tensors = origin_tensors(small_one_of_each(Origin::pytorch));
  CHECK(names_of(tensors) == std::vector<std::string>{"conv.weight", "conv.bias", "bn.weight",
                                                      "bn.bias", "bn.running_mean",
                                                      "bn.running_var", "dense.weight",
                                                      "dense.bias"});
  CHECK(named(tensors, "conv.weight").shape == Sizes{5, 3, 2, 2});
  CHECK(named(tensors, "dense.weight").shape == Sizes{4, 5});
  CHECK(named(tensors, "bn.running_var").shape == Sizes{5});
  CHECK(named(tensors, "bn.bias").trainable);
  CHECK_FALSE(named(tensors, "bn.running_mean").trainable);
}

TEST_CASE("origin tensors: Keras' names and shapes", "[weights]") {
  const auto tensors = origin_tensors(small_one_of_each(Origin::keras));
  CHECK(names_of(tensors) == std::vector<std::string>{"conv/kernel", "conv/bias", "bn/gamma",
                                                      "bn/beta", "bn/moving_mean",
                                                      "bn/moving_variance", "dense/kernel",
                                                      "dense/bias"});
  CHECK(named(tensors, "conv/kernel").shape == Sizes{2, 2, 3, 5});
  CHECK(named(tensors, "dense/kernel").shape == Sizes{5, 4});
}

TEST_CASE("origin tensors: the shortcut of a block comes last in it", "[weights]") {
  const auto all = names_of(origin_tensors(build_model("resnet18", 32, 10)));
  const auto first = std::find(all.begin(), all.end(), "layer2.0.conv1.weight");
  std::vector<std::string> convolutions;
  for (auto name = first; *name != "layer2.1.conv1.weight"; ++name)
    if (name->find("conv") != name->npos || name->find("shortcut.0") != name->npos)
      convolutions.push_back(*name);
  CHECK(convolutions == std::vector<std::string>{"layer2.0.conv1.weight", "layer2.0.conv2.weight",
                                                 "layer2.0.shortcut.0.weight"});
  CHECK(all.front() == "conv1.weight");
  CHECK(all.back() == "linear.bias");
}

TEST_CASE("origin tensors: every float of both arenas belongs to one tensor", "[weights]") {
  const Graph graph = build_model("resnet18", 32, 10);
  const auto parameters = places(graph.parameter_count());
  const auto statistics = places(graph.statistics_count());
  std::vector<int> trained(parameters.size());
  std::vector<int> tracked(statistics.size());
  for (const OriginTensor& tensor : origin_tensors(graph)) {
    auto& times = tensor.trainable ? trained : tracked;
    for (const float place : taken(tensor, parameters, statistics)) ++times.at(std::size_t(place));
  }
  CHECK(std::ranges::count(trained, 1) == std::ptrdiff_t(trained.size()));
  CHECK(std::ranges::count(tracked, 1) == std::ptrdiff_t(tracked.size()));
}

TEST_CASE("origin tensors: a convolution's elements, by the index formulas", "[weights]") {
  constexpr std::size_t out = 5, in = 3, side = 2;
  const auto [origin, name] =
      GENERATE(std::pair{Origin::pytorch, "conv.weight"}, std::pair{Origin::keras, "conv/kernel"});
  const Graph graph = small_one_of_each(origin);
  const std::size_t offset = offset_of(graph, name);
  const auto values =
      taken(named(origin_tensors(graph), name), places(graph.parameter_count()), {});
  for (std::size_t o = 0; o < out; ++o)
    for (std::size_t h = 0; h < side; ++h)
      for (std::size_t w = 0; w < side; ++w)
        for (std::size_t i = 0; i < in; ++i) {
          const std::size_t there = origin == Origin::pytorch ? ((o * in + i) * side + h) * side + w
                                                              : ((h * side + w) * in + i) * out + o;
          const std::size_t here = offset + ((o * side + h) * side + w) * in + i;
          REQUIRE(values[there] == float(here));
        }
}

TEST_CASE("origin tensors: a dense weight lies as it is, or transposed for Keras", "[weights]") {
  constexpr std::size_t out = 4, in = 5;
  const auto [origin, name] = GENERATE(std::pair{Origin::pytorch, "dense.weight"},
                                       std::pair{Origin::keras, "dense/kernel"});
  const Graph graph = small_one_of_each(origin);
  const std::size_t offset = offset_of(graph, name);
  const auto values =
      taken(named(origin_tensors(graph), name), places(graph.parameter_count()), {});
  for (std::size_t o = 0; o < out; ++o)
    for (std::size_t i = 0; i < in; ++i) {
      const std::size_t there = origin == Origin::pytorch ? o * in + i : i * out + o;
      REQUIRE(values[there] == float(offset + o * in + i));
    }
}

TEST_CASE("origin tensors: mean lies before variance", "[weights]") {
  const Graph graph = small_one_of_each(Origin::pytorch);
  const auto tensors = origin_tensors(graph);
  const auto statistics = places(graph.statistics_count());
  CHECK(taken(named(tensors, "bn.running_mean"), {}, statistics) ==
        std::vector<float>{0, 1, 2, 3, 4});
  CHECK(taken(named(tensors, "bn.running_var"), {}, statistics) ==
        std::vector<float>{5, 6, 7, 8, 9});
}

TEST_CASE("origin tensors: the way there and back restores both arenas", "[weights]") {
  for (const Origin origin : {Origin::pytorch, Origin::keras}) {
    const Graph graph = small_one_of_each(origin);
    const auto parameters = places(graph.parameter_count());
    const auto statistics = places(graph.statistics_count());
    std::vector<float> parameters_again(parameters.size(), -1.0F);
    std::vector<float> statistics_again(statistics.size(), -1.0F);
    for (const OriginTensor& tensor : origin_tensors(graph))
      from_origin(tensor, taken(tensor, parameters, statistics), parameters_again,
                  statistics_again);
    CHECK(parameters_again == parameters);
    CHECK(statistics_again == statistics);
  }
}

}  // namespace rueda::test
