// Names, shapes and numbers of tensors: rueda's networks against PyTorch and Keras.

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "cases.hpp"
#include "weights/origin_tensors.hpp"

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
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const OriginTensor& t) { return t.name == name; });
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

}  // namespace rueda::test
