#include "commands/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "backend/roof.hpp"
#include "base/bfloat16.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands/commands.hpp"
#include "display/text.hpp"
#include "model/flops.hpp"
#include "model/gpu_fusion.hpp"
#include "model/registry.hpp"
#include "rueda/data/dataset.hpp"

// What a step of training costs on a GPU, by counting: the CUDA backend's
// passes over memory, their bytes, their arithmetic, their launches.

namespace rueda {
namespace {

enum class Part { conv, statistics, apply, gradient_sums, input_gradient, other };

/// How close a kernel comes to its roofline. What hides the memory's latency is
/// the number of loads that a multiprocessor has in flight: 16-byte loads of a
/// thread x resident blocks, both in docs/dev/kernels.md, from the machine
/// code. For `before` of them the share was estimated; for `now` it is
/// kMost (1 - exp(-now / scale)), with the scale that gives that estimate. A
/// share changes only with `now`.
struct Efficiency {
  const char* name;
  double estimate;
  double before = 1, now = 1;

  double share() const {
    constexpr double kMost = 0.95;  // of a copy's rate: the last blocks leave some of it unused
    if (now == before) return estimate;
    return kMost * (1 - std::pow(1 - estimate / kMost, now / before));
  }
};

/// By Part. That of convolutions depends on their shape: convolution_share.
constexpr auto kEfficiencies =
    std::to_array<Efficiency>({{"convolutions", 0},
                               {"batch norm: statistics", 0.65, 1 * 5, 4 * 4},
                               {"batch norm: apply", 0.88, 1 * 4, 4 * 4},
                               {"batch norm: gradient sums", 0.70, 4 * 2, 4 * 4},
                               {"batch norm: input gradient", 0.72, 3 * 2, 4 * 4},
                               {"all others", 0.88}});
/// Between two kernels of a recorded step.
constexpr double kLaunchSeconds = 1e-6;

/// What some launches do for a whole batch.
struct Kernel : Work {
  Part part;
  int launches = 1;
  double side = 0;  ///< of a convolution, as convolution_share takes it

  double share() const {
    if (part == Part::conv) return convolution_share(side);
    return kEfficiencies[std::size_t(part)].share();
  }
};

/// Counts the kernels of a step, layer by layer, as the CUDA backend launches them.
class KernelCounter {
 public:
  KernelCounter(const Graph& graph, std::size_t batch, std::size_t element_bytes)
      : graph_(graph), batch_(double(batch)), element_(double(element_bytes)) {}

  std::vector<Kernel> of(NodeId id) {
    kernels_.clear();
    std::visit([&](const auto& kind) { count(id, kind); }, graph_.node(id).kind);
    return kernels_;
  }

  /// Makes the batch, computes the loss, and updates: weights and velocities by
  /// gradients, running statistics, packed copies; in bf16 gradients are converted.
  std::vector<Kernel> rest() const {
    const double pixels = double(graph_.shape(graph_.input()).elements()) / kImageChannels;
    double parameter = 20;
    int launches = 4;
    if (bf16()) {
      parameter += 6 + 6;
      launches = 5;
    }
    const bool clears = sums_in_epilogues();
    return {{{0, batch_ * (kImageBytes + pixels * kStoredPixelBytes)}, Part::other, 2},
            {{0, double(clears * graph_.statistics_count() * sizeof(float))},
             Part::other,
             4 + int(clears)},
            {{0, double(graph_.parameter_count()) * parameter}, Part::other, launches}};
  }

 private:
  bool bf16() const { return element_ == sizeof(kernels::Bfloat16); }
  /// So many times the activation that `id` puts out.
  void move(NodeId id, Part part, double times) { add(part, times * bytes_of(id)); }
  void add(Part part, double bytes, double flops = 0, int launches = 1) {
    kernels_.push_back({{flops, bytes}, part, launches});
  }
  void add_product(double bytes, double flops, double side) {
    kernels_.push_back({{flops, bytes}, Part::conv, 1, side});
  }
  double bytes_of(NodeId id) const {
    return batch_ * element_ * double(graph_.shape(id).elements());
  }
  NodeId input(NodeId id) const { return graph_.node(id).inputs.front(); }
  bool adds(NodeId id) const { return graph_.node(id).inputs.size() == 2; }
  /// How many a node's backward reads: those of several readers come as two.
  double gradients_of(NodeId id) const { return graph_.readers(id).size() > 1 ? 2 : 1; }

  /// Whether the convolution that a batch norm reads has summed for it.
  bool is_summed(NodeId norm) const { return bf16() && norm_to_sum(graph_, input(norm)) == norm; }
  bool sums_in_epilogues() const {
    for (NodeId id = 1; id <= graph_.logits(); ++id)
      if (std::holds_alternative<BatchNormNode>(graph_.node(id).kind) && is_summed(id)) return true;
    return false;
  }

  void count(NodeId, const InputNode&) {}
  void count(NodeId id, const ConvNode& conv) {
    const bool first = input(id) == graph_.input();
    double padding = 1;
    if (first) padding = kStoredPixelBytes / element_ / graph_.shape(input(id)).channels;
    const double flops = batch_ * double(forward_flops(graph_, id)) * padding;
    const double whole = bytes_of(input(id)) * padding;
    double touched = whole;
    if (conv.kernel == 1) touched /= conv.stride * conv.stride;
    const double made = bytes_of(id);
    double added = 0;
    if (adds(id)) added = made;
    const double weights = element_ * double(graph_.parameter(conv.weight).count) * padding;
    const double window = double(conv.kernel) * conv.kernel;
    const double in = graph_.shape(input(id)).channels * padding;
    const double out = graph_.shape(id).channels;
    const double side = std::min(out, in * window);
    add_product(touched + made + weights + added, flops, side);
    add_product(touched + made + weights, flops, side);
    if (first)
      add(Part::other, weights);  // its weight gradient loses the padded channels
    else
      add_product(made + whole + weights, flops, std::min(in, out * window));
    if (conv.bias != kNone && !norm_sums_bias(graph_, id)) move(id, Part::other, 1);
  }
  void count(NodeId id, const BatchNormNode& norm) {
    const double gradients = gradients_of(id);
    const double addend = gradients_of(input(id)) - 1;
    move(id, Part::statistics, is_summed(id) ? 0 : 1);
    if (adds(id)) {
      move(id, Part::apply, 3);
      move(id, Part::gradient_sums, 1 + gradients + (norm.relu ? 2 : 1));
      move(id, Part::input_gradient, 3 + addend);
    } else {
      move(id, Part::apply, 2);
      move(id, Part::gradient_sums, 1 + gradients);
      move(id, Part::input_gradient, 2 + gradients + addend);
    }
  }
  // Forward and backward pass over the same memory.
  void count(NodeId id, const AddNode&) { add(Part::other, 6 * bytes_of(id), 0, 2); }
  void count(NodeId id, const PadShortcutNode&) { add(Part::other, 4 * bytes_of(id), 0, 2); }
  void count(NodeId id, const GlobalAveragePoolNode&) {
    add(Part::other, 2 * bytes_of(input(id)), 0, 2);
  }
  void count(NodeId id, const MaxPoolNode& pool) {
    const double in = bytes_of(input(id));
    const double out = bytes_of(id);
    const double winners = out / element_;
    double touched = in;
    if (pool.kernel == 1) touched = out;
    add(Part::other, touched + out + winners);
    add(Part::other, in + out + winners);
  }
  /// Three products by cuBLAS, bias and its gradient.
  void count(NodeId id, const DenseNode&) {
    add(Part::other, 3 * (bytes_of(input(id)) + bytes_of(id)),
        3 * batch_ * double(forward_flops(graph_, id)), 5);
  }

  const Graph& graph_;
  double batch_;
  double element_;  ///< bytes
  std::vector<Kernel> kernels_;
};

/// What kernels take; seconds of a batch.
struct Cost {
  double flops = 0, bytes = 0, best = 0, floor = 0, plan = 0;
  int launches = 0;

  void add(const Kernel& kernel, const Roof& roof) {
    flops += kernel.flops;
    bytes += kernel.bytes;
    // Its work alone counts. NOLINTNEXTLINE(cppcoreguidelines-slicing)
    const double seconds = roof.seconds({kernel});
    best += seconds;
    plan += seconds / kernel.share() + kernel.launches * kLaunchSeconds;
    launches += kernel.launches;
  }
  /// Of the roof, without what passes between kernels.
  double share() const { return best / (plan - launches * kLaunchSeconds); }
};

/// Of a named GPU, or as the user gives it.
Roof roof_of_user(std::string_view gpu, Precision precision) {
  if (std::ranges::count(kGpuRates, gpu, &GpuRates::name) > 0) return *roof_of(gpu, precision);
  std::string_view rest = gpu;
  const double flops = take_number<double>(rest).value_or(0);
  const double bytes = take(rest, ",") ? take_number<double>(rest).value_or(0) : 0;
  require(rest.empty() && flops > 0 && bytes > 0 && std::isfinite(flops + bytes),
          fmt::format("--roofline '{}': give {}, or the rates of a product and a copy in "
                      "FLOP/s,bytes/s, for example 790e12,4.3e12",
                      gpu, fmt::join(kGpuRates | std::views::transform(&GpuRates::name), ", ")));
  return {flops, bytes};
}

using Costs = std::vector<std::pair<std::string, Cost>>;

/// "-" where there is nothing.
std::string per_image(double value, double batch, double unit) {
  if (value <= 0) return "-";
  return fmt::format("{:.3f}", value / batch / unit);
}

/// Per image. `bound`: what the plan is compared with, and its title.
std::string table(const char* what, const Costs& costs, double batch, double Cost::*bound,
                  const char* title) {
  TextTable table = number_table({what, "launches", "GFLOP", "MB", title, "plan us"});
  for (const auto& [name, cost] : costs) {
    table.add({name, std::to_string(cost.launches), per_image(cost.flops, batch, 1e9),
               per_image(cost.bytes, batch, 1e6), per_image(cost.*bound, batch, 1e-6),
               per_image(cost.plan, batch, 1e-6)});
  }
  return table.text();
}

/// The layers that lose most against the floor.
Costs worst(Costs layers) {
  constexpr std::size_t kShown = 10;
  std::ranges::stable_sort(layers, std::ranges::greater(),
                           [](const auto& l) { return l.second.plan - l.second.floor; });
  layers.resize(std::min(kShown, layers.size()));
  return layers;
}

/// A step, by part and by layer.
struct StepCost {
  Costs parts, layers;
  Cost all;
};

StepCost cost_of(const Graph& graph, std::size_t batch, std::size_t element, const Roof& roof) {
  KernelCounter counter(graph, batch, element);
  StepCost step;
  for (const Efficiency& e : kEfficiencies)
    step.parts.emplace_back(fmt::format("{}, {:.0f} %", e.name, 100 * e.share()), Cost());
  const auto count = [&](const std::string& layer, const auto& kernels, double floor) {
    Cost& cost = step.layers.emplace_back(layer, Cost{.floor = floor}).second;
    step.all.floor += floor;
    for (const Kernel& kernel : kernels)
      for (Cost* sum : {&step.all, &step.parts[std::size_t(kernel.part)].second, &cost})
        sum->add(kernel, roof);
  };
  const auto least = [&](NodeId id, Pass pass) {
    return roof.seconds(work_of(graph, id, pass, batch, element));
  };
  for (NodeId id = 1; id <= graph.logits(); ++id)
    count(graph.node(id).name, counter.of(id),
          least(id, Pass::forward) + least(id, Pass::backward));
  const double update = element == 2 ? 26 : 20;  // bytes a parameter
  count("batch, loss, update", counter.rest(),
        roof.seconds({{0, update * double(graph.parameter_count())}}));
  auto& [title, convolutions] = step.parts[std::size_t(Part::conv)];
  title = fmt::format("convolutions, {:.0f} % on average", 100 * convolutions.share());
  step.parts.emplace_back("all", step.all);
  return step;
}

}  // namespace

std::string roofline_text(const SummaryOptions& options) {
  const Roof roof = roof_of_user(options.roofline, options.precision);
  const std::size_t batch = options.batch_per_rank;
  const std::size_t element = options.precision == Precision::bf16 ? 2 : 4;
  const Graph graph =
      fuse_additions(build_model(options.model, options.image_size, options.classes), kGpuFusions);
  const StepCost step = cost_of(graph, batch, element, roof);
  const auto images = double(batch);
  return fmt::format(
             "Roofline of a training step of {}, {}, batch of {}, on {}: {:.4g} TFLOP/s, "
             "{:.4g} TB/s\n{}\nLayers that hold it back most\n{}\n"
             "{:.0f} images/s at the floor, {:.0f} by the plan: a model, not a measurement\n",
             options.model, to_string(options.precision), batch, options.roofline,
             roof.flops / 1e12, roof.bytes / 1e12,
             table("part", step.parts, images, &Cost::best, "best us"),
             table("layer", worst(step.layers), images, &Cost::floor, "floor us"),
             images / step.all.floor, images / step.all.plan) +
         paragraph(
             "floor", 8,
             "the minimum work, with the usual fusions, at the rates of the GPU; per image, as "
             "all figures but launches") +
         paragraph("best", 8, "the kernels of the CUDA backend at the rates of the GPU") +
         paragraph("plan", 8,
                   "the same at the share that stands with each part, and 1 us between kernels");
}

}  // namespace rueda
