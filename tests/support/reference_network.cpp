#include "reference_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "reference_ops.hpp"

namespace rueda::test {
namespace {

std::size_t index(int i) { return std::size_t(i); }

void lower(double& distance, double candidate) { distance = std::min(distance, candidate); }

double smallest_magnitude(const Tensor& x) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double v : x.values) lower(smallest, std::abs(v));
  return smallest;
}

/// The smallest lead of a window's largest value over another, equal ones apart: these are zeros
/// after a ReLU, which pass no gradient anyway.
double smallest_lead(const Tensor& x, const MaxPoolNode& k, const Tensor& y) {
  double smallest = std::numeric_limits<double>::infinity();
  for_each_place(y, [&](int n, int c, int oy, int ox) {
    for (int i = 0; i < k.kernel * k.kernel; ++i) {
      const int iy = oy * k.stride - k.padding + i / k.kernel;
      const int ix = ox * k.stride - k.padding + i % k.kernel;
      if (!x.has(iy, ix) && k.filled_with == PoolPadding::none) continue;
      const double value = x.has(iy, ix) ? x.at(n, c, iy, ix) : 0.0;
      const double lead = y.at(n, c, oy, ox) - value;
      if (lead > 0) lower(smallest, lead);
    }
  });
  return smallest;
}

/// Walks a graph forward, then backward; nodes are visited by their kinds.
class Walk {
 public:
  Walk(const Graph& graph, const Vector& parameters, const Vector* running)
      : graph_(graph), parameters_(parameters), running_(running) {
    step_.activations.resize(graph.nodes().size());
    before_relu_.resize(graph.nodes().size());
    step_.gradients.resize(graph.parameter_count());
    step_.statistics.resize(graph.statistics_count());
    step_.kink_distance = std::numeric_limits<double>::infinity();
  }

  void forward(const Tensor& input) {
    step_.activations[0] = input;
    for (node_ = 1; node_ <= graph_.logits(); ++node_) {
      step_.activations[index(node_)] =
          std::visit([this](const auto& kind) { return output(kind); }, self().kind);
    }
  }

  void backward(const std::vector<std::int32_t>& labels, double scale, double smoothing) {
    for (const Node& node : graph_.nodes())
      gradients_.emplace_back(int(labels.size()), node.output);
    const ReferenceLoss loss = softmax_cross_entropy(logits(), labels, scale, smoothing);
    step_.loss = loss.loss;
    step_.correct = loss.correct;
    gradients_.back() = loss.gradient;
    for (node_ = graph_.logits(); node_ >= 1; --node_)
      std::visit([this](const auto& kind) { route(kind); }, self().kind);
  }

  const Tensor& logits() const { return step_.activations.back(); }
  ReferenceStep& step() { return step_; }

 private:
  const Node& self() const { return graph_.node(node_); }
  const Tensor& x(std::size_t i = 0) const { return step_.activations[index(self().inputs[i])]; }
  const Tensor& dy() const { return gradients_[index(node_)]; }

  Vector parameter(ParameterId id) const {
    if (id == kNone) return {};
    const Parameter& p = graph_.parameter(id);
    const auto first = parameters_.begin() + std::ptrdiff_t(p.offset);
    return {first, first + std::ptrdiff_t(p.count)};
  }
  void set_gradient(ParameterId id, const Vector& values) {
    const std::size_t offset = graph_.parameter(id).offset;
    std::copy(values.begin(), values.end(), step_.gradients.begin() + std::ptrdiff_t(offset));
  }
  void contribute(const Tensor& dx, std::size_t i = 0) {
    Tensor& to = gradients_[index(self().inputs[i])];
    to = sum(to, dx);
  }

  Tensor with_relu(const Tensor& y, bool on) {
    before_relu_[index(node_)] = y;
    if (!on) return y;
    lower(step_.kink_distance, smallest_magnitude(y));
    return relu(y);
  }
  Tensor without_relu(bool on) const {
    return on ? relu_gradient(before_relu_[index(node_)], dy()) : dy();
  }

  Tensor output(const InputNode&) const { return x(); }
  Tensor output(const ConvNode& k) const {
    return conv(x(), parameter(k.weight), parameter(k.bias), k);
  }
  Tensor output(const BatchNormNode& k) {
    const Moments moments = running_ == nullptr ? batch_moments(x()) : stored(k);
    store(k, moments);
    return with_relu(
        normalise(x(), moments, parameter(k.gamma), parameter(k.beta), double(k.epsilon)), k.relu);
  }
  Tensor output(const AddNode& k) { return with_relu(sum(x(0), x(1)), k.relu); }
  Tensor output(const MaxPoolNode& k) {
    const Tensor y = max_pool(x(), k);
    lower(step_.kink_distance, smallest_lead(x(), k, y));
    return y;
  }
  Tensor output(const PadShortcutNode& k) const { return pad_shortcut(x(), k, self().output); }
  Tensor output(const GlobalAveragePoolNode&) const { return global_average_pool(x()); }
  Tensor output(const DenseNode& k) const {
    return dense(x(), parameter(k.weight), parameter(k.bias));
  }

  Moments stored(const BatchNormNode& k) const {
    const auto mean = running_->begin() + std::ptrdiff_t(k.statistics_offset);
    const auto variance = mean + x().c;
    return {Vector(mean, variance), Vector(variance, variance + x().c)};
  }
  void store(const BatchNormNode& k, const Moments& moments) {
    const auto to = step_.statistics.begin() + std::ptrdiff_t(k.statistics_offset);
    std::copy(moments.mean.begin(), moments.mean.end(), to);
    std::copy(moments.variance.begin(), moments.variance.end(), to + x().c);
  }

  void route(const InputNode&) const {}
  void route(const ConvNode& k) {
    set_gradient(k.weight, conv_weight_gradient(x(), k, dy()));
    if (k.bias != kNone) set_gradient(k.bias, conv_bias_gradient(dy()));
    contribute(conv_data_gradient(x(), parameter(k.weight), k, dy()));
  }
  void route(const BatchNormNode& k) {
    const BatchNormGradients g =
        batch_norm_gradients(x(), parameter(k.gamma), double(k.epsilon), without_relu(k.relu));
    set_gradient(k.gamma, g.gamma);
    set_gradient(k.beta, g.beta);
    contribute(g.x);
  }
  void route(const AddNode& k) {
    const Tensor dx = without_relu(k.relu);
    contribute(dx, 0);
    contribute(dx, 1);
  }
  void route(const MaxPoolNode& k) { contribute(max_pool_gradient(x(), k, dy())); }
  void route(const PadShortcutNode& k) { contribute(pad_shortcut_gradient(x(), k, dy())); }
  void route(const GlobalAveragePoolNode&) { contribute(global_average_pool_gradient(x(), dy())); }
  void route(const DenseNode& k) {
    set_gradient(k.weight, dense_weight_gradient(x(), dy()));
    set_gradient(k.bias, dense_bias_gradient(dy()));
    contribute(dense_data_gradient(x(), parameter(k.weight), dy()));
  }

  const Graph& graph_;
  const Vector& parameters_;
  const Vector* running_;
  NodeId node_ = 0;
  std::vector<Tensor> before_relu_;
  std::vector<Tensor> gradients_;
  ReferenceStep step_;
};

Vector random_parameters(const Graph& graph, std::uint64_t seed) {
  Vector values(graph.parameter_count());
  for (const Parameter& p : graph.parameters()) {
    const bool gamma = p.init == Init::ones;
    const double bound = p.dims.size() > 1 ? std::sqrt(6.0 / p.fan_in) : 0.5;
    const Vector drawn = random_vector(random_bits(seed, key_of(p.name)), p.count, bound, gamma);
    std::copy(drawn.begin(), drawn.end(), values.begin() + std::ptrdiff_t(p.offset));
  }
  return values;
}

}  // namespace

ReferenceStep reference_step(const Graph& graph, const Vector& parameters, const Tensor& input,
                             const std::vector<std::int32_t>& labels, double scale,
                             double smoothing) {
  Walk walk(graph, parameters, nullptr);
  walk.forward(input);
  walk.backward(labels, scale, smoothing);
  return walk.step();
}

Tensor reference_logits(const Graph& graph, const Vector& parameters, const Vector& running,
                        const Tensor& input) {
  Walk walk(graph, parameters, &running);
  walk.forward(input);
  return walk.logits();
}

Vector smooth_parameters(const Graph& graph, const Tensor& input,
                         const std::vector<std::int32_t>& labels, double distance) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Vector parameters = random_parameters(graph, seed);
    if (reference_step(graph, parameters, input, labels, 1).kink_distance > distance)
      return parameters;
  }
  throw std::runtime_error("no smooth parameters found for " + graph.name());
}

}  // namespace rueda::test
