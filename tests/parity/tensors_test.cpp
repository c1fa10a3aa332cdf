// Names, shapes and numbers of tensors: rueda's networks against PyTorch and Keras.
#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "digest.hpp"
#include "model/registry.hpp"
#include "model/weights/origin_tensors.hpp"

namespace rueda::test {
namespace {

/// Names, shapes and kinds; from PyTorch also the order, which its optimizers' states depend on.
void check_tensors(const Case& c) {
  const auto tensors = origin_tensors(c.graph);
  const auto& listed = c.reference.at("tensors");
  REQUIRE(tensors.size() == listed.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = listed[i].at("name");
    INFO(name);
    const auto found = std::ranges::find(tensors, name, &OriginTensor::name);
    REQUIRE(found != tensors.end());
    CHECK(found->shape == listed[i].at("shape").get<std::vector<std::size_t>>());
    CHECK(found->trainable == listed[i].at("trainable").get<bool>());
    if (c.graph.origin() == Origin::pytorch) CHECK(tensors[i].name == name);
  }
}

void check_counts(const Case& c) {
  const auto& counts = c.reference.at("counts");
  CHECK(c.graph.parameter_count() == counts.at("trainable"));
  CHECK(c.graph.statistics_count() == counts.at("non_trainable"));
  if (!counts.contains("trainable_1000")) return;
  const Graph published = build_model(c.graph.name(), 224, 1000);
  CHECK(published.parameter_count() == counts.at("trainable_1000"));
  CHECK(published.statistics_count() == counts.at("non_trainable_1000"));
}

}  // namespace

TEST_CASE("a network has the tensors and counts of its origin", "[parity]") {
  const Case c(GENERATE(from_range(all_networks())));
  INFO(c.graph.name());
  check_tensors(c);
  check_counts(c);
}

// The Keras networks layer by layer: what Keras' own configurations say against the graph.

namespace {

using nlohmann::json;

template <typename Kind>
const Kind& node_of(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes(), name, &Node::name);
  if (found == graph.nodes().end()) FAIL("no layer " << name);
  return std::get<Kind>(found->kind);
}

template <typename Kind>
std::size_t count_of(const Graph& graph) {
  return std::size_t(std::ranges::count_if(
      graph.nodes(), [](const Node& n) { return std::holds_alternative<Kind>(n.kind); }));
}

std::size_t count_of(const json& layers, const std::string& type) {
  return std::size_t(std::count_if(layers.begin(), layers.end(),
                                   [&](const json& layer) { return layer.at("class") == type; }));
}

void check_conv(const ConvNode& conv, const json& layer) {
  CHECK(conv.filters == layer.at("filters"));
  CHECK(layer.at("kernel_size") == json::array({conv.kernel, conv.kernel}));
  CHECK(layer.at("strides") == json::array({conv.stride, conv.stride}));
  CHECK((conv.bias != kNone) == layer.at("use_bias").get<bool>());
}

void check_layer(const Graph& graph, const json& layer) {
  INFO(layer);
  const std::string name = layer.at("name");
  const std::string type = layer.at("class");
  if (type == "Conv2D") {
    check_conv(node_of<ConvNode>(graph, name), layer);
  } else if (type == "BatchNormalization") {
    const auto& norm = node_of<BatchNormNode>(graph, name);
    CHECK(norm.epsilon == layer.at("epsilon").get<float>());
    CHECK(graph.running_momentum() == layer.at("momentum").get<float>());
  } else if (type == "Dense") {
    CHECK(node_of<DenseNode>(graph, name).units == layer.at("units"));
  } else if (type == "Add") {
    CHECK_FALSE(node_of<AddNode>(graph, name).relu);
  }
}

}  // namespace

TEST_CASE("the Keras networks have Keras' layers", "[parity]") {
  const std::string name = GENERATE("resnet50v2", "resnet101v2", "resnet152v2");
  const json reference = read_reference(name);
  const json& layers = reference.at("layers");
  const Graph graph = build_model(name, reference.at("image_size"), 10);
  for (const json& layer : layers) check_layer(graph, layer);
  CHECK(count_of<ConvNode>(graph) == count_of(layers, "Conv2D"));
  CHECK(count_of<BatchNormNode>(graph) == count_of(layers, "BatchNormalization"));
  CHECK(count_of<MaxPoolNode>(graph) == count_of(layers, "MaxPooling2D"));
  CHECK(count_of<AddNode>(graph) == count_of(layers, "Add"));
}

}  // namespace rueda::test
