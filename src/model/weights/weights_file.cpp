#include "model/weights/weights_file.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/weights/origin_tensors.hpp"
#include "model/weights/safetensors.hpp"

namespace rueda {
namespace {

std::string remedy_for(const Graph& graph) {
  return "give the weights of a " + graph.name() + " with " + std::to_string(graph.classes()) +
         " classes, or another --model";
}

/// The arena's axes in the origin's order, by the number of axes: 4 of a
/// convolution (out, height, width, in), 2 of a dense weight (out, in), 1 of a
/// vector.
std::vector<std::size_t> axes_of(std::size_t rank, Origin origin) {
  const bool keras = origin == Origin::keras;
  if (rank == 4 && keras) return {1, 2, 3, 0};
  if (rank == 4) return {0, 3, 1, 2};
  if (rank == 2 && keras) return {1, 0};
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

OriginTensor parameter_tensor(const Parameter& parameter, Origin origin) {
  OriginTensor tensor{.name = parameter.name, .offset = parameter.offset};
  const std::vector<int>& dims = parameter.dims;
  std::vector<std::size_t> strides(dims.size());  // in the arena, which is packed
  std::exclusive_scan(dims.rbegin(), dims.rend(), strides.rbegin(), std::size_t{1},
                      std::multiplies<std::size_t>());
  for (const std::size_t axis : axes_of(dims.size(), origin)) {
    tensor.shape.push_back(std::size_t(dims[axis]));
    tensor.strides.push_back(strides[axis]);
  }
  return tensor;
}

/// Appends the tensors of one node.
void append(const Graph& graph, const Node& node, std::vector<OriginTensor>& tensors) {
  for_each_parameter(node.kind, [&](ParameterId id) {
    tensors.push_back(parameter_tensor(graph.parameter(id), graph.origin()));
  });
  const auto* norm = std::get_if<BatchNormNode>(&node.kind);
  if (norm == nullptr) return;
  const char* mean = ".running_mean";
  const char* variance = ".running_var";
  if (graph.origin() == Origin::keras) {
    mean = "/moving_mean";
    variance = "/moving_variance";
  }
  const auto channels = std::size_t(node.output.channels);
  const std::size_t offset = norm->statistics_offset;
  tensors.push_back({node.name + mean, {channels}, false, offset, {1}});
  tensors.push_back({node.name + variance, {channels}, false, offset + channels, {1}});
}

/// Calls `f(i, place)` for every element in the origin's order; `place` is
/// where it lies in its arena.
template <typename F>
void for_each_element(const OriginTensor& tensor, F f) {
  const std::size_t count = tensor.elements();
  std::vector<std::size_t> index(tensor.shape.size(), 0);
  std::size_t place = tensor.offset;
  for (std::size_t i = 0; i < count; ++i) {
    f(i, place);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      place += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      place -= tensor.shape[axis] * tensor.strides[axis];
      index[axis] = 0;
    }
  }
}

namespace fs = std::filesystem;

using Entries = std::map<std::string, const TensorEntry*>;

/// PyTorch counts the steps of every batch norm; nothing is computed from them.
std::vector<std::string> counters_of(const std::vector<OriginTensor>& tensors) {
  constexpr std::string_view kVariance = ".running_var";
  std::vector<std::string> names;
  for (const OriginTensor& tensor : tensors) {
    if (!tensor.name.ends_with(kVariance)) continue;
    const std::string layer = tensor.name.substr(0, tensor.name.size() - kVariance.size());
    names.push_back(layer + ".num_batches_tracked");
  }
  return names;
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

/// "3 tensors, the first 'a'".
std::string first_and_count(const std::vector<std::string>& names) {
  if (names.size() == 1) return fmt::format("the tensor '{}'", printable(names.front()));
  return fmt::format("{} tensors, the first '{}'", names.size(), printable(names.front()));
}

[[noreturn]] void refuse(const SafetensorsFile& file, const std::string& why,
                         const std::string& remedy) {
  throw InputError(fmt::format("weights file {}: {}: {}", file.path().string(), why, remedy));
}

/// How the names of a file fit those of a network where `prefix` is left out.
struct NameFit {
  std::string prefix;
  std::vector<std::string> missing, unexpected;

  std::size_t faults() const noexcept { return missing.size() + unexpected.size(); }
};

using Names = std::set<std::string>;

Names known_names(const std::vector<OriginTensor>& tensors) {
  const auto counters = counters_of(tensors);
  Names known(counters.begin(), counters.end());
  for (const OriginTensor& tensor : tensors) known.insert(tensor.name);
  return known;
}

/// Some files have the prefix on some names only, as on all but the buffers.
std::string without_prefix(const std::string& name, const std::string& prefix, const Names& known) {
  if (prefix.empty() || !name.starts_with(prefix)) return name;
  std::string rest = name.substr(prefix.size());
  return known.contains(rest) ? rest : name;
}

NameFit fit_names(const std::vector<OriginTensor>& tensors, const SafetensorsFile& file,
                  const Names& known, const std::string& prefix) {
  NameFit fit{prefix, {}, {}};
  Names present;
  for (const TensorEntry& entry : file.tensors()) {
    const std::string name = without_prefix(entry.name, prefix, known);
    const bool fresh = present.insert(name).second;
    if (!fresh || !known.contains(name)) fit.unexpected.push_back(entry.name);
  }
  for (const OriginTensor& tensor : tensors)
    if (!present.contains(tensor.name)) fit.missing.push_back(tensor.name);
  return fit;
}

/// What stands in the file before the names of the first tensors that are missing, the shortest
/// first.
std::vector<std::string> possible_prefixes(const std::vector<std::string>& missing,
                                           const SafetensorsFile& file) {
  constexpr std::size_t kMostMissing = 3, kMostPrefixes = 200;
  Names found;
  for (const std::string& name : missing | std::views::take(kMostMissing))
    for (const TensorEntry& entry : file.tensors())
      if (entry.name.ends_with(name))
        found.insert(entry.name.substr(0, entry.name.size() - name.size()));
  std::vector<std::string> prefixes(found.begin(), found.end());
  std::ranges::stable_sort(prefixes, {}, &std::string::size);
  prefixes.resize(std::min(prefixes.size(), kMostPrefixes));
  return prefixes;
}

std::string fault_text(const NameFit& fit) {
  std::string why;
  if (!fit.missing.empty()) why = "it lacks " + first_and_count(fit.missing);
  if (fit.unexpected.empty()) return why;
  if (fit.missing.empty())
    why = "it has ";
  else
    why += ", and has ";
  return why + first_and_count(fit.unexpected) + " too many";
}

/// What stands before the names of the network. Refuses a file that lacks tensors or has others
/// either way.
std::string prefix_of_names(const Graph& graph, const std::vector<OriginTensor>& tensors,
                            const SafetensorsFile& file) {
  const Names known = known_names(tensors);
  NameFit best = fit_names(tensors, file, known, "");
  for (const std::string& prefix : possible_prefixes(best.missing, file)) {
    if (best.faults() == 0) break;
    NameFit fit = fit_names(tensors, file, known, prefix);
    if (fit.faults() < best.faults()) best = std::move(fit);
  }
  if (best.faults() == 0) return best.prefix;
  std::string why = fault_text(best);
  if (!best.prefix.empty())
    why += ", with '" + printable(best.prefix) + "' left out before its names";
  refuse(file, why, remedy_for(graph));
}

void check_kind(const Graph& graph, const SafetensorsFile& file, const OriginTensor& tensor,
                const TensorEntry& entry) {
  if (entry.shape != tensor.shape) {
    refuse(file,
           fmt::format("tensor '{}' has the shape {}, expected {}", tensor.name,
                       shape_text(entry.shape), shape_text(tensor.shape)),
           remedy_for(graph));
  }
  if (entry.dtype != "F32") {
    refuse(file, fmt::format("tensor '{}' is {}, expected F32", tensor.name, entry.dtype),
           "save it in single precision");
  }
}

bool is_variance(const OriginTensor& tensor) {
  return tensor.name.ends_with(".running_var") || tensor.name.ends_with("/moving_variance");
}

/// A network with such values has NaN between its layers, which a fused ReLU turns into 0: its
/// loss may look sound.
void check_values(const SafetensorsFile& file, const OriginTensor& tensor,
                  std::span<const float> values) {
  const bool variance = is_variance(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool finite = std::isfinite(values[i]);
    if (finite && !(variance && values[i] < 0)) continue;
    const auto what = fmt::format("tensor '{}' is {} at element {}", tensor.name, values[i], i);
    if (!finite) refuse(file, what, "give weights of a run that did not diverge");
    refuse(file, what + ", and a variance is not negative",
           "save the weights again: this tensor was changed after its training");
  }
}

/// Without `statistics` the trainable ones alone.
std::vector<OriginTensor> tensors_of(const Graph& graph, bool statistics) {
  auto tensors = origin_tensors(graph);
  if (!statistics) std::erase_if(tensors, std::not_fn(&OriginTensor::trainable));
  return tensors;
}

}  // namespace

std::size_t OriginTensor::elements() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::vector<OriginTensor> origin_tensors(const Graph& graph) {
  std::vector<OriginTensor> tensors;
  std::vector<const Node*> shortcut;  // written down first in the graph, listed last by PyTorch
  for (const Node& node : graph.nodes()) {
    if (node.name.find(".shortcut.") != std::string::npos)
      shortcut.push_back(&node);
    else
      append(graph, node, tensors);
    if (!std::holds_alternative<AddNode>(node.kind)) continue;
    for (const Node* held : std::exchange(shortcut, {})) append(graph, *held, tensors);
  }
  return tensors;
}

void to_origin(const OriginTensor& tensor, std::span<const float> parameters,
               std::span<const float> statistics, std::span<float> out) {
  const auto arena = tensor.trainable ? parameters : statistics;
  for_each_element(tensor, [&](std::size_t i, std::size_t place) { out[i] = arena[place]; });
}

void from_origin(const OriginTensor& tensor, std::span<const float> in, std::span<float> parameters,
                 std::span<float> statistics) {
  const auto arena = tensor.trainable ? parameters : statistics;
  for_each_element(tensor, [&](std::size_t i, std::size_t place) { arena[place] = in[i]; });
}

std::string load_weights(const Graph& graph, const fs::path& path, std::span<float> parameters,
                         std::span<float> statistics) {
  const auto tensors = tensors_of(graph, !statistics.empty());
  SafetensorsFile file(path);
  std::string prefix = prefix_of_names(graph, tensors, file);
  const Names known = known_names(tensors);
  Entries entries;
  for (const TensorEntry& entry : file.tensors())
    entries[without_prefix(entry.name, prefix, known)] = &entry;
  for (const OriginTensor& tensor : tensors)
    check_kind(graph, file, tensor, *entries.at(tensor.name));
  for (const OriginTensor& tensor : tensors) {
    std::vector<float> values(tensor.elements());
    file.read(*entries.at(tensor.name), values);
    check_values(file, tensor, values);
    from_origin(tensor, values, parameters, statistics);
  }
  return prefix;
}

void save_weights(const Graph& graph, const fs::path& path, std::span<const float> parameters,
                  std::span<const float> statistics, std::uint64_t steps) {
  const auto tensors = tensors_of(graph, !statistics.empty());
  std::vector<TensorData> data;
  for (const std::string& counter : counters_of(tensors))
    data.push_back({counter, "I64", {}, std::as_bytes(std::span(&steps, 1))});
  std::vector<float> values(parameters.size() + statistics.size());
  std::span<float> free = values;
  for (const OriginTensor& tensor : tensors) {
    const std::span<float> mine = free.first(tensor.elements());
    free = free.subspan(tensor.elements());
    to_origin(tensor, parameters, statistics, mine);
    data.push_back({tensor.name, "F32", tensor.shape, std::as_bytes(mine)});
  }
  std::map<std::string, std::string> metadata = {{"model", graph.name()}};
  if (graph.origin() == Origin::pytorch) metadata["format"] = "pt";  // a custom of its readers
  write_safetensors(path, data, metadata);
}

}  // namespace rueda
