#include <functional>
#include <variant>

#include <catch2/catch.hpp>

#include "tests/support/reference_network.hpp"
#include "tests/support/reference_ops.hpp"
#include "tests/support/small_graphs.hpp"

// The oracle of all other tests has no oracle but the definition of a derivative.

namespace rueda::test {
namespace {

/// Central differences: the error is of the order of kStep^2 plus 1e-16 / kStep.
constexpr double kStep = 2e-6;
constexpr double kTolerance = 1e-8;

double difference(double& at, const std::function<double()>& f) {
  const double before = at;
  at = before + kStep;
  const double above = f();
  at = before - kStep;
  const double below = f();
  at = before;
  return (above - below) / (2 * kStep);
}

double dot(const Tensor& a, const Tensor& b) {
  REQUIRE(a.size() == b.size());
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += a.values[i] * b.values[i];
  return s;
}

/// `gradient` is that of f with respect to `at`, element by element.
void check_gradient(Vector& at, const Vector& gradient, const std::function<double()>& f) {
  REQUIRE(at.size() == gradient.size());
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    worst = std::max(worst, std::abs(difference(at[i], f) - gradient[i]));
  CHECK(worst < kTolerance * double(at.size()));
}

TEST_CASE("reference convolution: gradients are derivatives", "[reference]") {
  for (const ConvNode& node : {ConvNode{3, 3, 1, 1}, ConvNode{2, 3, 2, 1}, ConvNode{4, 1, 2, 0},
                               ConvNode{2, 7, 2, 3}, ConvNode{2, 3, 1, 0}}) {
    CAPTURE(node.kernel, node.stride, node.padding);
    Tensor x = random_tensor(1, 2, {3, 5, 6});
    Vector w = random_vector(2, std::size_t(node.filters * node.kernel * node.kernel * 3));
    Vector b = random_vector(3, std::size_t(node.filters));
    Tensor dy = conv(x, w, b, node);
    dy.values = random_vector(4, dy.size());
    const auto f = [&] { return dot(conv(x, w, b, node), dy); };
    check_gradient(x.values, conv_data_gradient(x, w, node, dy).values, f);
    check_gradient(w, conv_weight_gradient(x, node, dy), f);
    check_gradient(b, conv_bias_gradient(dy), f);
  }
}

TEST_CASE("reference convolution by hand", "[reference]") {
  Tensor x(1, 2, 2, 2);
  x.values = {1, 2, 3, 4, 10, 20, 30, 40};
  // One filter: a 3x3 window, weights (ky, kx, channel), of which only the centre of channel 0, the
  // left neighbour of channel 1 and the bias count.
  Vector w(18, 0.0);
  w[(1 * 3 + 1) * 2 + 0] = 1;
  w[(1 * 3 + 0) * 2 + 1] = 1;
  const Tensor y = conv(x, w, {0.5}, {1, 3, 1, 1});
  CHECK(y.values == Vector{1.5, 12.5, 3.5, 34.5});
}

TEST_CASE("reference batch norm: gradients are derivatives", "[reference]") {
  const double epsilon = GENERATE(1e-5, 0.1);
  Tensor x = random_tensor(5, 3, {4, 2, 3}, 1.0, 0.5);
  Vector gamma = random_vector(6, 4, 0.5, 1.0);
  Vector beta = random_vector(7, 4);
  const Tensor dy = random_tensor(8, 3, {4, 2, 3});
  const auto f = [&] { return dot(normalise(x, batch_moments(x), gamma, beta, epsilon), dy); };
  const BatchNormGradients g = batch_norm_gradients(x, gamma, epsilon, dy);
  check_gradient(x.values, g.x.values, f);
  check_gradient(gamma, g.gamma, f);
  check_gradient(beta, g.beta, f);
}

TEST_CASE("reference moments by hand", "[reference]") {
  Tensor x(2, 1, 1, 2);
  x.values = {1, 2, 3, 6};
  CHECK(batch_moments(x).mean[0] == Approx(3).epsilon(1e-15));
  CHECK(batch_moments(x).variance[0] == Approx(3.5).epsilon(1e-15));
}

TEST_CASE("reference ReLU and sum: gradients are derivatives", "[reference]") {
  Tensor a = random_tensor(9, 2, {3, 3, 3});
  Tensor b = random_tensor(10, 2, {3, 3, 3});
  const Tensor dy = random_tensor(11, 2, {3, 3, 3});
  const auto f = [&] { return dot(relu(sum(a, b)), dy); };
  for (const double v : sum(a, b).values) REQUIRE(std::abs(v) > 2 * kStep);
  const Vector gradient = relu_gradient(sum(a, b), dy).values;
  check_gradient(a.values, gradient, f);
  check_gradient(b.values, gradient, f);
}

TEST_CASE("reference poolings: gradients are derivatives", "[reference]") {
  Tensor x = random_tensor(12, 2, {3, 7, 5});
  for (const MaxPoolNode& node : {MaxPoolNode{3, 2, 1}, MaxPoolNode{3, 2, 1, PoolPadding::zeros},
                                  MaxPoolNode{1, 2, 0}, MaxPoolNode{2, 1, 0}}) {
    CAPTURE(node.kernel);
    Tensor dy = max_pool(x, node);
    dy.values = random_vector(13, dy.size());
    check_gradient(x.values, max_pool_gradient(x, node, dy).values,
                   [&] { return dot(max_pool(x, node), dy); });
  }
  const Tensor dy = random_tensor(14, 2, {3, 1, 1});
  check_gradient(x.values, global_average_pool_gradient(x, dy).values,
                 [&] { return dot(global_average_pool(x), dy); });
}

TEST_CASE("reference option A shortcut", "[reference]") {
  Tensor x = random_tensor(15, 2, {2, 5, 4});
  const PadShortcutNode node{2};
  const Tensor dy = random_tensor(16, 2, {6, 3, 2});
  check_gradient(x.values, pad_shortcut_gradient(x, node, dy).values, [&] {
    return dot(pad_shortcut(x, node, {6, 3, 2}), dy);
  });
  const Tensor y = pad_shortcut(x, node, {6, 3, 2});
  CHECK(y.at(1, 2, 2, 1) == x.at(1, 0, 4, 2));
  CHECK(y.at(1, 3, 1, 1) == x.at(1, 1, 2, 2));
  CHECK(y.at(1, 1, 1, 1) == 0);
  CHECK(y.at(1, 4, 1, 1) == 0);
}

TEST_CASE("reference dense: gradients are derivatives", "[reference]") {
  Tensor x = random_tensor(17, 3, {5, 1, 1});
  Vector w = random_vector(18, 20);
  Vector b = random_vector(19, 4);
  const Tensor dy = random_tensor(20, 3, {4, 1, 1});
  const auto f = [&] { return dot(dense(x, w, b), dy); };
  check_gradient(x.values, dense_data_gradient(x, w, dy).values, f);
  check_gradient(w, dense_weight_gradient(x, dy), f);
  check_gradient(b, dense_bias_gradient(dy), f);
}

TEST_CASE("reference softmax cross entropy", "[reference]") {
  Tensor logits = random_tensor(21, 3, {4, 1, 1}, 3.0);
  const std::vector<std::int32_t> labels = {3, 0, 2};
  check_gradient(logits.values, softmax_cross_entropy(logits, labels, 0.25).gradient.values,
                 [&] { return 0.25 * softmax_cross_entropy(logits, labels, 0.25).loss; });
  Tensor pair(2, 2, 1, 1);
  pair.values = {0, std::log(3.0), 1000, 1000};
  const ReferenceLoss r = softmax_cross_entropy(pair, {1, 1}, 1);
  CHECK(r.loss == Approx(std::log(4.0 / 3.0) + std::log(2.0)));
  CHECK(r.correct == 1);  // of equal logits the first counts
}

TEST_CASE("reference networks: parameter gradients are derivatives", "[reference]") {
  for (const SmallGraph& small : small_graphs()) {
    const Graph graph = small.build(9);
    CAPTURE(small.name);
    const Tensor input = random_tensor(23, 2, graph.shape(graph.input()));
    const std::vector<std::int32_t> labels = {7, 2};
    Vector parameters = smooth_parameters(graph, input, labels, 20 * kStep);
    const ReferenceStep step = reference_step(graph, parameters, input, labels, 0.5);
    const auto f = [&] { return 0.5 * reference_step(graph, parameters, input, labels, 0.5).loss; };
    for (const Parameter& p : graph.parameters()) {
      CAPTURE(p.name);
      for (std::size_t i = p.offset; i < p.offset + p.count; i += 1 + p.count / 3)
        CHECK(std::abs(difference(parameters[i], f) - step.gradients[i]) < 1e-6);
    }
  }
}

}  // namespace
}  // namespace rueda::test
