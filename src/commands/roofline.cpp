#include "commands/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "backend/launches.hpp"
#include "backend/roof.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands/summary.hpp"
#include "display/text.hpp"
#include "model/flops.hpp"
#include "model/gpu_fusion.hpp"
#include "model/registry.hpp"

// What a step of training costs on a GPU, by counting: the launches of the CUDA
// backend, their bytes, their arithmetic.

namespace rueda {
namespace {

enum class Part { conv, statistics, apply, gradient_sums, input_gradient, other };

/// By Part.
constexpr auto kPartNames =
    std::to_array({"convolutions", "batch norm: statistics", "batch norm: apply",
                   "batch norm: gradient sums", "batch norm: input gradient", "all others"});

Part part_of(const Launch& launch) {
  if (launch.is_convolution()) return Part::conv;
  switch (launch.kind) {
    case LaunchKind::norm_statistics:
      return Part::statistics;
    case LaunchKind::norm_apply:
      return Part::apply;
    case LaunchKind::norm_gradient_sums:
      return Part::gradient_sums;
    case LaunchKind::norm_input_gradient:
      return Part::input_gradient;
    default:
      return Part::other;
  }
}

/// What a launch takes besides its work.
double fixed_seconds(const Launch& launch) {
  if (launch.is_product()) return kProductSeconds;
  return launch.sums_rows() ? kSumSeconds : kOtherSeconds;
}

/// What launches take; seconds of a batch.
struct Cost {
  double flops = 0, bytes = 0, best = 0, floor = 0, plan = 0;
  int launches = 0;

  void add(const Cost& launch) {
    flops += launch.flops;
    bytes += launch.bytes;
    best += launch.best;
    plan += launch.plan;
    launches += launch.launches;
  }
};

Cost cost_of(const Launch& launch, const Roof& roof, Precision precision) {
  const Work work = launch.work();
  return {.flops = work.flops,
          .bytes = work.bytes,
          .best = roof.seconds({work}),
          .plan = planned_seconds(launch, roof, precision),
          .launches = 1};
}

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

StepCost cost_of(const Graph& graph, std::size_t batch, Precision precision, const Roof& roof) {
  const std::size_t element = precision == Precision::bf16 ? 2 : 4;
  StepCost step;
  for (const char* name : kPartNames) step.parts.emplace_back(name, Cost());
  const auto least = [&](NodeId id, Pass pass) {
    return roof.seconds(work_of(graph, id, pass, batch, element));
  };
  const double update = element == 2 ? 26 : 20;  // bytes a parameter
  const Work updates{0, update * double(graph.parameter_count())};
  step.layers.emplace_back("batch, loss, update", Cost{.floor = roof.seconds({updates})});
  for (NodeId id = 1; id <= graph.logits(); ++id)
    step.layers.emplace_back(graph.node(id).name,
                             Cost{.floor = least(id, Pass::forward) + least(id, Pass::backward)});
  for (const auto& [layer, cost] : step.layers) step.all.floor += cost.floor;
  for (const auto& [node, launch] :
       step_launches(graph, int(batch), precision, usual_epilogue(precision))) {
    const Cost cost = cost_of(launch, roof, precision);
    step.all.add(cost);
    step.parts[std::size_t(part_of(launch))].second.add(cost);
    step.layers[index(node)].second.add(cost);
  }
  step.parts.emplace_back("all", step.all);
  return step;
}

}  // namespace

double planned_seconds(const Launch& launch, const Roof& roof, Precision precision) {
  Roof reached{roof.flops, roof.bytes * kOwnShare};
  if (launch.is_convolution()) {
    reached.flops *= convolution_share(launch.side, precision);
    reached.bytes = roof.bytes * (launch.uses(Tensor::sums) ? kStatisticsShare : 1.0);
  }
  return fixed_seconds(launch) + reached.seconds({launch.work()});
}

std::string roofline_text(const SummaryOptions& options) {
  const Roof roof = roof_of_user(options.roofline, options.train.device.precision);
  const std::size_t batch = options.train.batch.per_rank;
  const Graph graph = fuse_additions(
      build_model(options.train.model.name, options.train.model.image_size, options.classes),
      kGpuFusions);
  const StepCost step = cost_of(graph, batch, options.train.device.precision, roof);
  const auto images = double(batch);
  return fmt::format(
             "Roofline of a training step of {}, {}, batch of {}, on {}: {:.4g} TFLOP/s, "
             "{:.4g} TB/s\n{}\nLayers that hold it back most\n{}\n"
             "{:.0f} images/s at the floor, {:.0f} by the plan: a model, not a measurement\n",
             options.train.model.name, to_string(options.train.device.precision), batch,
             options.roofline, roof.flops / 1e12, roof.bytes / 1e12,
             table("part", step.parts, images, &Cost::best, "best us"),
             table("layer", worst(step.layers), images, &Cost::floor, "floor us"),
             images / step.all.floor, images / step.all.plan) +
         paragraph(
             "floor", 8,
             "the minimum work, with the usual fusions, at the rates of the GPU; per image, as "
             "all figures but launches") +
         paragraph("best", 8, "the launches of the CUDA backend at the rates of the GPU") +
         paragraph("plan", 8,
                   fmt::format("the same at the shares of these rates that launches reached on an "
                               "H100 in bf16 (an estimate for other precisions), and {} us more "
                               "for each product, {} us for each sum over the rows of a batch, {} "
                               "us for each of the others",
                               kProductSeconds * 1e6, kSumSeconds * 1e6, kOtherSeconds * 1e6));
}

}  // namespace rueda
