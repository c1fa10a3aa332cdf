// rueda's networks against PyTorch and Keras: the stored results are those of the frameworks in
// float64, with the error of their own float32 runs (tests/parity/measure.py).
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "digest.hpp"
#include "network.hpp"
#include "tests/support/backend_under_test.hpp"
#include "tests/support/replica_bench.hpp"
#include "train/sgd.hpp"

namespace rueda::test {
namespace {

/// Makes the variances of a network small, so that a wrong epsilon of batch normalisation shows.
constexpr double kSmallGain = 0.01;

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

/// In sections, so that a network can be chosen (-c resnet20).
void check_each(const std::vector<std::string>& names, void (*check)(const Case&)) {
  for (const std::string& name : names) {
    DYNAMIC_SECTION(name) { check(Case(name)); }
  }
}

}  // namespace

TEST_CASE("a network puts out the logits and the loss of its origin", "[backend][parity]") {
  check_each(trained_networks(), check_forward);
}

TEST_CASE("the deepest networks put out the logits and the loss of their origin",
          "[backend][parity][long]") {
  check_each(deepest_networks(), check_forward);
}

TEST_CASE("a training step has the gradients and statistics of the network's origin",
          "[backend][parity][train]") {
  check_each(trained_networks(), check_step);
}

TEST_CASE("the optimizer's steps lead to the weights of the network's origin",
          "[backend][parity][train]") {
  check_each({"resnet20"}, check_updates);
}

TEST_CASE("the optimizer's steps lead to the weights of a large network's origin",
          "[backend][parity][train][long]") {
  check_each({"resnet18", "resnet50v2"}, check_updates);
}

TEST_CASE("twenty steps have the losses of the network's origin", "[backend][parity][train]") {
  check_each({"resnet20"}, check_series);
}

TEST_CASE("twenty steps have the losses of a large network's origin",
          "[backend][parity][train][long]") {
  check_each({"resnet18", "resnet50v2"}, check_series);
}

// rueda's SGD against torch.optim (tests/parity/torch_reference.py).

namespace {

using nlohmann::json;

/// The largest |a - b|; infinite if one is NaN or there are not as many.
double largest_difference(std::span<const float> values, const std::vector<double>& expected) {
  if (values.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(double(values[i]) - expected[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

}  // namespace

TEST_CASE("SGD takes the steps of torch.optim.SGD at changing rates", "[backend][parity]") {
  const json reference = read_reference("sgd");
  for (const json& expected : reference.at("cases")) {
    constexpr std::size_t count = 32;
    const auto backend = open_backend_under_test();
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(float(formula_unit("sgd/values", i)));
    const DeviceFloats device(*backend, values);
    Sgd optimizer(*backend, device.span(),
                  {.momentum = expected.at("momentum"),
                   .weight_decay = expected.at("weight_decay"),
                   .nesterov = expected.at("nesterov")});
    const auto& rates = expected.at("rates");
    for (std::size_t s = 0; s < rates.size(); ++s) {
      INFO("momentum " << expected.at("momentum") << ", step " << s);
      std::vector<float> gradients;
      for (std::size_t i = 0; i < count; ++i)
        gradients.push_back(float(formula_unit("sgd/gradients", s * count + i)));
      const DeviceFloats of_step(*backend, gradients);
      optimizer.update(device.span(), of_step.span(), 0, rates[s]);
      const auto after = expected.at("values").at(s).get<std::vector<double>>();
      CHECK(largest_difference(device.read(), after) < 1e-6);
    }
  }
}

// LARS and smoothed labels against PyTorch (tests/parity/torch_reference.py).

namespace {

/// The tensors of the reference of LARS, which lie one after the other.
class LarsReference {
 public:
  explicit LarsReference(const json& tensors) {
    for (const json& tensor : tensors) {
      const auto shape = tensor.at("shape").get<std::vector<std::size_t>>();
      std::size_t count = 1;
      for (const std::size_t extent : shape) count *= extent;
      tensors_.push_back({floats_, count, shape.size() > 1});
      floats_ += count;
      names_.push_back(tensor.at("name"));
      zeros_.push_back(tensor.at("zero"));
    }
  }

  const std::vector<LarsTensor>& tensors() const { return tensors_; }

  /// The "values" or "gradients" of a step, from 0.
  std::vector<float> formula(const std::string& kind, std::size_t step) const {
    std::vector<float> all(floats_);
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const auto [begin, count, adapted] = tensors_[t];
      for (std::size_t i = 0; i < count && zeros_[t] != kind; ++i)
        all[begin + i] = float(formula_unit("lars/" + kind + "/" + names_[t], step * count + i));
    }
    return all;
  }

 private:
  std::vector<LarsTensor> tensors_;
  std::vector<std::string> names_, zeros_;
  std::size_t floats_ = 0;
};

}  // namespace

TEST_CASE("LARS takes the steps of the paper's algorithm in PyTorch", "[backend][parity]") {
  const json reference = read_reference("lars");
  const LarsReference made(reference.at("tensors"));
  for (const json& expected : reference.at("cases")) {
    const auto backend = open_backend_under_test();
    const DeviceFloats device(*backend, made.formula("values", 0));
    Sgd optimizer(*backend, device.span(),
                  {.momentum = expected.at("momentum"),
                   .weight_decay = expected.at("weight_decay"),
                   .nesterov = expected.at("nesterov")},
                  {expected.at("trust"), expected.at("epsilon"), made.tensors()});
    const auto& rates = expected.at("rates");
    for (std::size_t s = 0; s < rates.size(); ++s) {
      INFO("trust " << expected.at("trust") << ", step " << s);
      const DeviceFloats gradients(*backend, made.formula("gradients", s));
      optimizer.update(device.span(), gradients.span(), 0, rates[s]);
      const auto after = expected.at("values").at(s).get<std::vector<double>>();
      CHECK(largest_difference(device.read(), after) < 1e-6);
    }
  }
}

TEST_CASE("smoothed labels have the loss and gradient of PyTorch's cross_entropy",
          "[backend][parity]") {
  const json reference = read_reference("label_smoothing");
  const std::size_t rows = reference.at("rows");
  const std::size_t classes = reference.at("classes");
  std::vector<float> logits;
  for (std::size_t i = 0; i < rows * classes; ++i)
    logits.push_back(8 * float(formula_unit("smoothing/logits", i)));
  std::vector<std::int32_t> labels;
  for (std::size_t row = 0; row < rows; ++row) labels.push_back(std::int32_t(row * 3 % classes));
  ImageBench bench(4, int(rows), Precision::fp32);
  Backend& backend = bench.backend();
  const DeviceFloats from(backend, logits);
  const DeviceLabels on_device(backend, labels);
  const DeviceFloats scale(backend, {1.0F / float(rows)});
  for (const json& expected : reference.at("cases")) {
    CAPTURE(expected.at("smoothing"));
    const DeviceFloats gradients(backend, std::vector<float>(logits.size()));
    const DeviceValues<LossSums> sums(backend, {LossSums{}});
    backend.softmax_cross_entropy({.logits = from.bytes(),
                                   .labels = on_device.data(),
                                   .rows = int(rows),
                                   .classes = int(classes),
                                   .smoothing = expected.at("smoothing"),
                                   .sums = sums.data(),
                                   .scale = scale.data(),
                                   .gradient = gradients.bytes()});
    const double loss = double(sums.read().front().loss) / double(rows);
    CHECK(std::abs(loss - expected.at("loss").get<double>()) < 2e-6);
    CHECK(largest_difference(gradients.read(), expected.at("gradients")) < 1e-6);
  }
}

}  // namespace rueda::test
