#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "base/element_hash.hpp"
#include "kernels/batch_norm.hpp"
#include "kernels/lars.hpp"
#include "kernels/sgd.hpp"
#include "kernels/softmax_loss.hpp"
#include "kernels/square_sum.hpp"
#include "reduce/host_sums.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "tests/support/reference_ops.hpp"
#include "tests/support/rounding.hpp"

namespace rueda::test {
namespace {

using namespace kernels;

/// Two steps from value 1 and velocity 0 with the gradients 1/2 and -1; all numbers are exact.
void check_two_steps(const SgdStep& step, float first, float second) {
  float value = 1.0F;
  float velocity = 0.0F;
  sgd_update(value, velocity, 0.5F, step);
  CHECK(value == first);
  sgd_update(value, velocity, -1.0F, step);
  CHECK(value == second);
}

TEST_CASE("pieces of a sum of squares: whole lanes, and no more than there is room for",
          "[kernels]") {
  for (const std::size_t count :
       {0UL, 1UL, 1024UL, 1025UL, 1024 * kMostSquarePieces, 1024 * kMostSquarePieces + 1,
        1056 * kMostSquarePieces, 1056 * kMostSquarePieces + 1, 1'000'000'000'007UL}) {
    CAPTURE(count);
    const std::size_t length = square_piece(count);
    CHECK(length % kSquareLanes == 0);
    CHECK(pieces(count, length) <= kMostSquarePieces);
    CHECK((length == 1024) == (count <= 1024 * kMostSquarePieces));
  }
}

TEST_CASE("sgd by hand", "[kernels]") {
  check_two_steps({.learning_rate = 0.125F}, 0.9375F, 1.0625F);
  // v = 1/2, then 1/4 - 1
  check_two_steps({.learning_rate = 0.125F, .momentum = 0.5F}, 0.9375F, 1.03125F);
  // g' = 1/2 + 1/4 = 3/4 = v; then g' = -1 + 0.90625/4, v = 3/8 + g'
  check_two_steps({.learning_rate = 0.125F, .momentum = 0.5F, .weight_decay = 0.25F}, 0.90625F,
                  0.9560546875F);
  // The direction is g' + v/2: 9/8; then g' = -1 + 0.859375/4, v = 3/8 + g'
  check_two_steps(
      {.learning_rate = 0.125F, .momentum = 0.5F, .weight_decay = 0.25F, .nesterov = true},
      0.859375F, 0.983154296875F);
}

TEST_CASE("sgd: a new learning rate leaves the velocity as it is", "[kernels]") {
  float value = 0.0F;
  float velocity = 0.0F;
  sgd_update(value, velocity, 1.0F, {.learning_rate = 0.5F, .momentum = 0.5F});
  CHECK(velocity == 1.0F);
  sgd_update(value, velocity, 0.0F, {.learning_rate = 0.25F, .momentum = 0.5F});
  CHECK(velocity == 0.5F);
  CHECK(value == -0.625F);
}

TEST_CASE("lars by hand", "[kernels]") {
  LarsStep step{.sgd = {.learning_rate = 0.5F, .momentum = 0.5F, .weight_decay = 0.25F},
                .trust = 0.125,
                .epsilon = 1};
  // |w| = 4, |g| = 2: 0.125 * 4 / (2 + 0.25 * 4 + 1)
  const SgdStep own = lars_step(step, true, 16, 4);
  CHECK(own.gradient_rate == 0.0625F);
  CHECK(own.learning_rate == 1);
  CHECK(own.weight_decay == 0.25F);
  CHECK(own.momentum == 0.5F);
  float value = 4;
  float velocity = 1;
  sgd_update(value, velocity, 2, own);
  CHECK(velocity == 0.6875F);  // 1 / 2 + (2 + 4 / 4) / 16
  CHECK(value == 3.3125F);
  // The weights are zeros, or the gradients are: the ratio is 1.
  CHECK(lars_step(step, true, 0, 4).gradient_rate == 0.5F);
  CHECK(lars_step(step, true, 16, 0).gradient_rate == 0.5F);
  CHECK(lars_step(step, true, 16, 0).weight_decay == 0.25F);
  const SgdStep plain = lars_step(step, false, 16, 4);
  CHECK(plain.gradient_rate == 0.5F);
  CHECK(plain.weight_decay == 0);
  CHECK(plain.learning_rate == 1);
}

TEST_CASE("relu and its gradient", "[kernels]") {
  CHECK(kernels::relu(2.5F) == 2.5F);
  CHECK(kernels::relu(-2.5F) == 0.0F);
  CHECK(kernels::relu(0.0F) == 0.0F);
  CHECK(std::isnan(kernels::relu(std::numeric_limits<float>::quiet_NaN())));
  CHECK(kernels::relu_gradient(0.5F, -3.0F) == -3.0F);
  CHECK(kernels::relu_gradient(0.0F, -3.0F) == 0.0F);
}

void check_softmax(const Tensor& logits, int label, float smoothing = 0) {
  const ReferenceLoss expected = softmax_cross_entropy(logits, {label}, 0.125, smoothing);
  const std::vector<float> row = to_floats(logits.values);
  std::vector<float> gradient(row.size());
  const RowLoss r =
      softmax_cross_entropy_row(row.data(), logits.c, label, smoothing, 0.125F, gradient.data());
  const double spread = *std::max_element(logits.values.begin(), logits.values.end()) -
                        *std::min_element(logits.values.begin(), logits.values.end());
  // A logit's rounding counts by the spread of the logits; a sum, an exponential and a logarithm
  // round a few times more.
  CHECK(excess({double(r.loss)}, {expected.loss}, {spread + expected.loss}, logits.c + 6) <= 1);
  CHECK(excess(to_doubles(gradient), expected.gradient.values,
               Vector(row.size(), 0.125 * (1 + spread * 0.25)), logits.c + 6) <= 1);
  CHECK(r.correct == (expected.correct == 1));
  const RowLoss without =
      softmax_cross_entropy_row(row.data(), logits.c, label, smoothing, 0.125F, nullptr);
  CHECK(without.loss == r.loss);
}

TEST_CASE("softmax cross entropy of a row", "[kernels]") {
  for (const double bound : {0.1, 3.0, 60.0}) {
    for (int label = 0; label < 10; ++label) {
      CAPTURE(bound, label);
      check_softmax(random_tensor(std::uint64_t(label), 1, {10, 1, 1}, bound), label);
    }
  }
}

TEST_CASE("softmax cross entropy of smoothed labels", "[kernels]") {
  for (const float smoothing : {0.1F, 0.5F, 0.99F}) {
    for (const int classes : {1, 2, 10, 100}) {
      for (const int label : {0, classes / 2, classes - 1}) {
        CAPTURE(smoothing, classes, label);
        const auto key = std::uint64_t(classes);
        check_softmax(random_tensor(key, 1, {classes, 1, 1}, 3.0), label, smoothing);
      }
    }
  }
}

TEST_CASE("without smoothing a class may be impossible", "[kernels]") {
  const float logits[] = {2.0F, -INFINITY, 2.0F};
  float gradient[3] = {};
  CHECK(softmax_cross_entropy_row(logits, 3, 0, 0, 1, gradient).loss == std::log(2.0F));
  CHECK(gradient[0] == -0.5F);
  CHECK(gradient[1] == 0.0F);
  CHECK(gradient[2] == 0.5F);
  CHECK(softmax_cross_entropy_row(logits, 3, 0, 0.1F, 1, nullptr).loss == INFINITY);
}

TEST_CASE("softmax cross entropy does not overflow", "[kernels]") {
  Tensor logits(1, 3, 1, 1);
  logits.values = {1000, 998, -1000};
  check_softmax(logits, 1);
  logits.values = {-5000, -5001, -4999};
  check_softmax(logits, 2);
  const float equal[] = {7.0F, 7.0F};
  CHECK(softmax_cross_entropy_row(equal, 2, 0, 0, 1, nullptr).correct);
  CHECK_FALSE(softmax_cross_entropy_row(equal, 2, 1, 0, 1, nullptr).correct);
}

TEST_CASE("element hash: the order of summation is free, places and bits are not", "[kernels]") {
  const std::vector<float> values = to_floats(random_vector(1, 1000));
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;
  std::uint64_t shifted = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    forward += element_hash(i, values[i]);
    backward += element_hash(999 - i, values[999 - i]);
    shifted += element_hash(i, values[(i + 1) % 1000]);
  }
  CHECK(forward == backward);
  CHECK(forward != shifted);
  CHECK(element_hash(3, 0.0F) != element_hash(3, -0.0F));
  CHECK(element_hash(3, 1.0F) != element_hash(3, std::nextafter(1.0F, 2.0F)));
}

TEST_CASE("nonfinite: the limits of what is a number", "[kernels]") {
  using Limits = std::numeric_limits<float>;
  for (const float v : {0.0F, -0.0F, 1.0F, Limits::max(), Limits::lowest(), Limits::denorm_min()})
    CHECK(nonfinite(3, v) == 0);
  for (const float v : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                        Limits::signaling_NaN(), -Limits::quiet_NaN()})
    CHECK(nonfinite(3, v) == 1);
}

TEST_CASE("message check: each bit, two floats that change places, and the order of summation",
          "[kernels]") {
  const std::vector<float> values = to_floats(random_vector(2, 1000));
  const auto sum_of = [](const std::vector<float>& v) {
    std::uint64_t sum = 0;
    for (std::size_t i = v.size(); i-- > 0;) sum += message_check(i, v[i]);
    return sum;
  };
  const std::uint64_t right = sum_of(values);
  CHECK(rueda::check_part(values, 0, 400) + rueda::check_part(values, 400, 1000) == right);
  for (const std::size_t i : {0u, 1u, 500u, 999u}) {
    for (unsigned bit = 0; bit < 32; ++bit) {
      auto wrong = values;
      wrong[i] = std::bit_cast<float>(bits_of(wrong[i]) ^ (1U << bit));
      CHECK(sum_of(wrong) != right);
    }
    auto swapped = values;
    std::swap(swapped[i], swapped[(i + 1) % 1000]);
    CHECK(sum_of(swapped) != right);
  }
  CHECK(message_check(3, 0.0F) != message_check(3, -0.0F));
}

TEST_CASE("batch statistics by hand", "[kernels]") {
  CHECK(weighted_statistic(1.5F, 8.0F, 1.0F) == 12.0F);
  CHECK(weighted_statistic(1.5F, 8.0F, 1.25F) == 15.0F);
  CHECK(updated_running(4.0F, 16.0F, 8.0F, 0.75F) == 3.5F);
}

}  // namespace
}  // namespace rueda::test
