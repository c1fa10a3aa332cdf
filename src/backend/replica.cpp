#include "rueda/backend/replica.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "rueda/core/error.hpp"

namespace rueda {

Replica::Replica(const Graph& graph, Backend& backend,
                 const std::vector<std::size_t>& train_batches,
                 const std::vector<std::size_t>& infer_batches)
    : graph_(graph),
      backend_(backend),
      layout_(graph),
      plan_(graph, backend, train_batches, infer_batches),
      host_statistics_(graph.statistics_count()) {
  const auto begin = std::chrono::steady_clock::now();
  allocate();
  allocation_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Replica::allocate() {
  values_ = backend_.allocate(layout_.parameters * sizeof(float));
  gradients_ = backend_.allocate(layout_.total() * sizeof(float));
  batch_statistics_ = backend_.allocate(layout_.statistics * sizeof(float));
  running_ = backend_.allocate(layout_.statistics * sizeof(float));
  pool_ = backend_.allocate(plan_.pool_bytes());
  backend_.bind_parameters(graph_, {values_->floats(), gradients_->floats(),
                                    batch_statistics_->floats(), running_->floats()});
  plan_.bind(pool_->data());
}

std::span<float> Replica::parameter(ParameterId id) {
  const Parameter& p = graph_.parameter(id);
  return parameters().subspan(p.offset, p.count);
}

std::span<float> Replica::gradient(ParameterId id) {
  const Parameter& p = graph_.parameter(id);
  return gradients().subspan(p.offset, p.count);
}

void Replica::load(const BatchRequest& request) {
  if (request.indices.empty()) {
    current_ = nullptr;
    return;
  }
  current_ = plan_.train().at(request.indices.size()).get();
  backend_.make_batch(request, current_->input(), current_->labels());
}

void Replica::forward() {
  if (current_ != nullptr) current_->forward();
}

void Replica::loss(float scale) {
  if (current_ == nullptr) {
    backend_.zero(gradients());
    return;
  }
  const LossSums sums =
      backend_.softmax_cross_entropy(current_->logits(), current_->labels(), current_->batch(),
                                     graph_.classes(), scale, current_->logits_gradient());
  write_tail(sums, static_cast<float>(current_->batch()));
}

void Replica::backward() {
  if (current_ != nullptr) current_->backward();
}

void Replica::write_tail(const LossSums& sums, float samples) {
  const std::span<float> tail = gradients().subspan(layout_.statistics_offset());
  for (const Node& node : graph_.nodes()) {
    const auto* bn = std::get_if<BatchNormNode>(&node.kind);
    if (bn == nullptr) continue;
    const auto channels = static_cast<std::size_t>(node.output.channels);
    const float values = samples * static_cast<float>(node.output.height * node.output.width);
    const bool unbiased = bn->running_variance == RunningVariance::unbiased && values > 1.0F;
    const float correction = unbiased ? values / (values - 1.0F) : 1.0F;
    const auto weigh = [&](std::size_t offset, float factor) {
      backend_.weigh_statistics(tail.subspan(offset, channels),
                                batch_statistics_->floats().subspan(offset, channels), samples,
                                factor);
    };
    weigh(bn->statistics_offset, 1.0F);
    weigh(bn->statistics_offset + channels, correction);
  }
  const float nonfinite = is_finite(sums) ? 0.0F : 1.0F;
  finite_ = finite_ && nonfinite == 0.0F;
  const std::array<float, kStepSums> last = {sums.loss, sums.correct, samples, nonfinite, 0.0F};
  backend_.upload(gradients().subspan(layout_.sums_offset(), kStepSums), last);
}

/// The loss alone would not do: a ReLU may swallow a NaN, but the statistics of the batch norm
/// before it keep it.
bool Replica::is_finite(const LossSums& sums) {
  backend_.download(host_statistics_, batch_statistics_->floats());
  return std::isfinite(sums.loss) && std::all_of(host_statistics_.begin(), host_statistics_.end(),
                                                 [](float v) { return std::isfinite(v); });
}

bool Replica::parameters_are_finite() {
  std::vector<float> host(layout_.parameters);
  backend_.download(host, parameters());
  return std::all_of(host.begin(), host.end(), [](float v) { return std::isfinite(v); });
}

LossSums Replica::infer(const BatchRequest& request) {
  if (request.indices.empty()) return {};
  Program& program = *plan_.infer().at(request.indices.size());
  backend_.make_batch(request, program.input(), program.labels());
  program.forward();
  return backend_.softmax_cross_entropy(program.logits(), program.labels(), program.batch(),
                                        graph_.classes(), 0.0F, nullptr);
}

StepSums Replica::step_sums() {
  std::array<float, kStepSums> sums{};
  backend_.download(sums, gradients().subspan(layout_.sums_offset(), kStepSums));
  return {sums[0], sums[1], sums[2], sums[3], sums[4]};
}

void Replica::update_running_statistics(float samples) {
  const std::span<float> sums = gradients().subspan(layout_.statistics_offset());
  for (const Node& node : graph_.nodes()) {
    const auto* bn = std::get_if<BatchNormNode>(&node.kind);
    if (bn == nullptr) continue;
    const std::size_t count = 2 * static_cast<std::size_t>(node.output.channels);
    backend_.update_running(running_statistics().subspan(bn->statistics_offset, count),
                            sums.subspan(bn->statistics_offset, count), samples, bn->momentum);
  }
}

}  // namespace rueda
