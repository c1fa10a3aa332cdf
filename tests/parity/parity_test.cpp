// rueda's networks against PyTorch and Keras: the stored results are those of the frameworks in
// float64, with the error of their own float32 runs beside them (tests/parity/measure.py).

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "digest.hpp"
#include "figures.hpp"
#include "network.hpp"
#include "rueda/model/registry.hpp"

namespace rueda::test {
namespace {

/// Makes the variances of a network small, so that a wrong epsilon of batch normalisation shows.
constexpr double kSmallGain = 0.01;

std::vector<std::string> trained_networks() { return {"resnet20", "resnet18", "resnet50v2"}; }

std::vector<std::string> all_networks() {
  auto names = trained_networks();
  names.insert(names.end(), {"resnet101v2", "resnet152v2"});
  return names;
}

struct Case {
  explicit Case(const std::string& name)
      : reference(read_reference(name)),
        graph(build_model(name, reference.at("image_size"), 10)),
        batch(reference.at("batch")) {}
  nlohmann::json reference;
  Graph graph;
  std::size_t batch;
};

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

void check_forward(const Case& c) {
  const auto& step = c.reference.at("step");
  const std::string& name = c.graph.name();
  CHECK(check_output(name + " inference", forward_output(c.graph, kSmallGain, c.batch, Mode::infer),
                     step.at("inference")) == "");
  CHECK(check_output(name + " training", forward_output(c.graph, kSmallGain, c.batch, Mode::train),
                     step.at("training")) == "");
}

void check_step(const Case& c) {
  const auto& step = c.reference.at("step");
  const std::string& name = c.graph.name();
  Network network(c.graph, kSmallGain, c.batch, 1);
  network.step(0);
  CHECK(check_digests(name + " gradients", network.gradients(), step.at("gradients"),
                      Through::relu) == "");
  Sgd optimizer = network.make_optimizer({.momentum = 0});
  network.update(optimizer, 0);
  CHECK(check_digests(name + " statistics", network.running_statistics(), step.at("statistics"),
                      Through::rounding) == "");
}

Sgd::Options sgd_options(const nlohmann::json& sgd) {
  return {.momentum = sgd.at("momentum"), .weight_decay = sgd.at("weight_decay")};
}

void check_updates(const Case& c) {
  const auto& train = c.reference.at("train");
  const auto& sgd = train.at("sgd");
  const std::string& name = c.graph.name();
  CHECK(check_output(name + " at gain 1", forward_output(c.graph, 1, c.batch, Mode::train),
                     train.at("training")) == "");
  Network network(c.graph, 1, c.batch, 1);
  Sgd optimizer = network.make_optimizer(sgd_options(sgd));
  for (const char* part : {"updated", "updated_twice"}) {
    network.step(0);
    network.update(optimizer, sgd.at("learning_rate"));
    CHECK(check_digests(name + " " + part, network.parameters(), train.at(part), Through::relu) ==
          "");
  }
}

void check_series(const Case& c) {
  const auto& train = c.reference.at("train");
  const auto& sgd = train.at("sgd");
  const std::size_t steps = train.at("losses").size();
  Network network(c.graph, 1, c.batch, steps);
  Sgd optimizer = network.make_optimizer(sgd_options(sgd));
  std::vector<double> losses;
  for (std::size_t s = 0; s < steps; ++s) {
    losses.push_back(network.step(s));
    network.update(optimizer, sgd.at("gentle_rate"));
  }
  CHECK(check_losses(c.graph.name() + " losses", losses, train) == "");
}

}  // namespace

TEST_CASE("a network has the tensors and counts of its origin", "[parity]") {
  const Case c(GENERATE(from_range(all_networks())));
  INFO(c.graph.name());
  check_tensors(c);
  check_counts(c);
}

TEST_CASE("a network puts out the logits and the loss of its origin", "[parity]") {
  const Case c(GENERATE(from_range(all_networks())));
  check_forward(c);
}

TEST_CASE("a training step has the gradients and statistics of the network's origin",
          "[parity][train]") {
  const Case c(GENERATE(from_range(trained_networks())));
  check_step(c);
}

TEST_CASE("the optimizer's steps lead to the weights of the network's origin", "[parity][train]") {
  const Case c(GENERATE(from_range(trained_networks())));
  check_updates(c);
}

TEST_CASE("twenty steps have the losses of the network's origin", "[parity][train]") {
  const Case c(GENERATE(from_range(trained_networks())));
  check_series(c);
}

}  // namespace rueda::test
