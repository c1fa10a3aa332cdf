#include "train/sgd.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace rueda {
namespace {

Sgd::Options options_of(const OptimizerConfig& config) {
  return {.momentum = float(config.momentum),
          .weight_decay = float(config.weight_decay),
          .nesterov = config.nesterov};
}

LarsOptions lars_of(const OptimizerConfig& config, const Graph& graph) {
  if (config.optimizer != OptimizerChoice::lars) return {};
  return {config.lars_trust, config.lars_epsilon, lars_tensors(graph)};
}

}  // namespace

std::vector<LarsTensor> lars_tensors(const Graph& graph) {
  std::vector<LarsTensor> tensors;
  for (const Parameter& p : graph.parameters())
    tensors.push_back({p.offset, p.count, p.dims.size() > 1});
  return tensors;
}

Sgd::Sgd(Backend& device, std::span<const float> parameters, const Options& options,
         LarsOptions lars)
    : device_(device),
      options_(options),
      lars_(std::move(lars)),
      lead_(lead_of(parameters)),
      velocities_(device.allocate((lead_ + parameters.size()) * sizeof(float))) {
  if (!lars_.tensors.empty()) squares_ = device.allocate(norm_bytes(lars_.tensors.size()));
}

Sgd::Sgd(Backend& device, std::span<const float> parameters, const OptimizerConfig& config,
         const Graph& graph)
    : Sgd(device, parameters, options_of(config), lars_of(config, graph)) {}

void Sgd::update(std::span<float> values, std::span<const float> gradients, std::size_t offset,
                 double learning_rate) {
  options_.learning_rate = float(learning_rate);
  const std::span<float> changed = velocities().subspan(offset, values.size());
  if (lars_.tensors.empty())
    device_.sgd_update(values, changed, gradients, options_);
  else
    update_tensors(values, changed, gradients, offset);
}

void Sgd::update_tensors(std::span<float> values, std::span<float> velocities,
                         std::span<const float> gradients, std::size_t offset) {
  take_slice({offset, offset + values.size()});
  const std::span<double> squares(reinterpret_cast<double*>(squares_.data()), 2 * ends_.size());
  const std::span<double> of_values = squares.first(ends_.size());
  const std::span<double> of_gradients = squares.last(ends_.size());
  device_.square_sums(values, ends_, of_values);
  device_.square_sums(gradients, ends_, of_gradients);
  device_.lars_update({values, velocities, gradients, slice_, of_values, of_gradients},
                      {options_, lars_.trust, lars_.epsilon});
}

/// Places are counted from the beginning of the slice.
void Sgd::take_slice(Range range) {
  slice_.clear();
  ends_.clear();
  for (const auto& [begin, count, adapted] : lars_.tensors) {
    if (begin < range.begin || begin >= range.end) continue;
    slice_.push_back({begin - range.begin, count, adapted});
    ends_.push_back(begin + count - range.begin);
  }
  const bool whole = !slice_.empty() && slice_.front().begin == 0 && ends_.back() == range.size();
  if (!whole && range.size() > 0) throw RunError("LARS updates whole tensors, not parts of them");
}

}  // namespace rueda
