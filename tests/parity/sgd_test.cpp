// rueda's SGD against torch.optim (tests/parity/torch_preprocessing.py).

#include "rueda/optim/sgd.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "digest.hpp"
#include "formula.hpp"
#include "tests/support/device_values.hpp"

namespace rueda::test {
namespace {

using nlohmann::json;

/// The largest |a - b|; infinite if one is NaN or there are not as many.
double largest_difference(std::span<const float> values, const std::vector<double>& expected) {
  if (values.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(static_cast<double>(values[i]) - expected[i]);
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
    Sgd optimizer(*backend, count,
                  {.momentum = expected.at("momentum"),
                   .weight_decay = expected.at("weight_decay"),
                   .nesterov = expected.at("nesterov")});
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(formula_unit("sgd/values", i)));
    }
    const DeviceFloats device(*backend, values);
    const auto& rates = expected.at("rates");
    for (std::size_t s = 0; s < rates.size(); ++s) {
      INFO("momentum " << expected.at("momentum") << ", step " << s);
      std::vector<float> gradients;
      for (std::size_t i = 0; i < count; ++i) {
        gradients.push_back(static_cast<float>(formula_unit("sgd/gradients", s * count + i)));
      }
      const DeviceFloats of_step(*backend, gradients);
      optimizer.update(device.span(), of_step.span(), 0, rates[s]);
      const auto after = expected.at("values").at(s).get<std::vector<double>>();
      CHECK(largest_difference(device.read(), after) < 1e-6);
    }
  }
}

}  // namespace rueda::test
