#include "train/sgd.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/split.hpp"

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

/// Those of a slice of the arena, from whose beginning their places are counted.
std::vector<LarsTensor> tensors_of(std::span<const LarsTensor> all, Range slice) {
  std::vector<LarsTensor> tensors;
  std::size_t end = 0;
  for (const auto& [begin, count, adapted] : all) {
    if (begin < slice.begin || begin >= slice.end) continue;
    tensors.push_back({begin - slice.begin, count, adapted});
    end = begin - slice.begin + count;
  }
  const bool whole = end == slice.size() && (tensors.empty() || tensors.front().begin == 0);
  if (!whole) throw RunError("LARS updates whole tensors, not parts of them");
  return tensors;
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
  const std::size_t bytes = 2 * lars_.tensors.size() * sizeof(double);
  if (bytes > 0) squares_ = device.allocate(bytes);
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
  const auto tensors = tensors_of(lars_.tensors, {offset, offset + values.size()});
  std::vector<std::size_t> ends;
  for (const LarsTensor& tensor : tensors) ends.push_back(tensor.begin + tensor.count);
  const std::span<double> squares(reinterpret_cast<double*>(squares_.data()), 2 * ends.size());
  const std::span<double> of_values = squares.first(ends.size());
  const std::span<double> of_gradients = squares.last(ends.size());
  device_.square_sums(values, ends, of_values);
  device_.square_sums(gradients, ends, of_gradients);
  device_.lars_update({values, velocities, gradients, tensors, of_values, of_gradients},
                      {options_, lars_.trust, lars_.epsilon});
}

}  // namespace rueda
