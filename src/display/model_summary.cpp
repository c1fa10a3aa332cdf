#include "display/model_summary.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/statistics.hpp"
#include "model/flops.hpp"

namespace rueda {
namespace {

/// 3x3, 3x3/2, 7x7/2 pad 2: kernel, stride other than 1, padding other than the usual.
std::string window(int kernel, int stride, int padding) {
  const int usual = kernel % 2 == 1 ? kernel / 2 : 0;
  std::string text = fmt::format("{0}x{0}", kernel);
  if (stride != 1) text += fmt::format("/{}", stride);
  if (padding != usual) text += fmt::format(" pad {}", padding);
  return text;
}

const char* with_relu(bool relu) { return relu ? " + relu" : ""; }

/// The type column of every kind of node.
struct TypeText {
  std::string operator()(const InputNode&) const { return "input"; }
  std::string operator()(const ConvNode& n) const {
    std::string text = fmt::format("conv {}, {}", window(n.kernel, n.stride, n.padding), n.filters);
    if (n.bias != kNone) text += " + bias";
    return text;
  }
  std::string operator()(const BatchNormNode& n) const {
    return fmt::format("batch norm{}", with_relu(n.relu));
  }
  std::string operator()(const AddNode& n) const { return fmt::format("add{}", with_relu(n.relu)); }
  std::string operator()(const MaxPoolNode& n) const {
    std::string text = "max pool " + window(n.kernel, n.stride, n.padding);
    if (n.padding > 0 && n.filled_with == PoolPadding::zeros) text += ", zeros";
    return text;
  }
  std::string operator()(const PadShortcutNode& n) const {
    if (n.stride == 1) return "pad channels";
    return fmt::format("pad channels, /{}", n.stride);
  }
  std::string operator()(const GlobalAveragePoolNode&) const { return "average pool"; }
  std::string operator()(const DenseNode& n) const { return fmt::format("dense {}", n.units); }
};

std::string shape_text(Shape s) {
  if (s.height == 1 && s.width == 1) return std::to_string(s.channels);
  return fmt::format("{}x{}x{}", s.channels, s.height, s.width);
}

/// Nothing for a layer without parameters.
std::string parameters_text(const Graph& graph, const Node& node) {
  std::size_t parameters = 0;
  for_each_parameter(node.kind, [&](ParameterId p) { parameters += graph.parameter(p).count; });
  if (parameters == 0) return "";
  return count_text(parameters);
}

/// Nothing where no operation counts.
std::string mflop_text(std::uint64_t flops) {
  if (flops == 0) return "";
  return fmt::format("{:.3f}", double(flops) / 1e6);
}

std::string layers(const Graph& graph) {
  TextTable table({Align::left, Align::left, Align::right, Align::right, Align::right}, 0);
  table.add({"layer", "type", "output", "parameters", "MFLOP"});
  for (NodeId id = 0; id <= graph.logits(); ++id) {
    const Node& node = graph.node(id);
    table.add({node.name, std::visit(TypeText{}, node.kind), shape_text(node.output),
               parameters_text(graph, node), mflop_text(forward_flops(graph, id))});
  }
  return table.text();
}

std::string gflop(const char* what, std::uint64_t flops, std::size_t batch) {
  const double per_image = double(flops) / 1e9;
  return fmt::format("  {:<14}{:.4g} GFLOP per image, {:.4g} GFLOP per batch of {}\n", what,
                     per_image, per_image * double(batch), batch);
}

std::string totals(const Graph& graph, std::size_t batch) {
  const std::size_t trainable = graph.parameter_count();
  const std::size_t fixed = graph.statistics_count();
  TextTable table({Align::left, Align::right, Align::left}, 2);
  table.add({"total", count_text(trainable + fixed), ""});
  table.add({"trainable", count_text(trainable), ""});
  table.add({"non-trainable", count_text(fixed), "running means and variances"});
  return "Parameters\n" + table.text() + "Arithmetic\n" +
         gflop("forward", forward_flops(graph), batch) +
         gflop("training", training_flops(graph), batch);
}

/// Seconds; its median once layer_table() has put that in the place of all.
double time_of(const LayerTime& pass) { return pass.seconds.front(); }

/// Puts one line in the place of the passes that a table has no room for.
void sum_up_others(std::vector<LayerTime>& passes) {
  constexpr std::size_t kShown = 20;
  if (passes.size() <= kShown) return;
  LayerTime rest{.seconds = {0}, .layer = fmt::format("{} others", passes.size() - kShown)};
  for (std::size_t i = kShown; i < passes.size(); ++i) rest.seconds[0] += time_of(passes[i]);
  passes.resize(kShown);
  passes.push_back(std::move(rest));
}

/// A dash where the amount or the time is not known.
std::string rate_cell(double amount, double seconds, const char* unit = "") {
  if (!(amount > 0 && seconds > 0)) return "-";
  return rate_text(amount / seconds) + unit;
}

void add_parts(TextTable& table, const MemoryNeed& need, bool grow_with_batch) {
  for (const MemoryPart& part : kMemoryParts) {
    if (part.grows_with_batch != grow_with_batch || need.*part.bytes == 0) continue;
    table.add({std::string("  ") + part.name, bytes_text(need.*part.bytes), part.meaning});
  }
}

}  // namespace

std::string model_summary(const Graph& graph, std::size_t batch_per_rank) {
  const Shape in = graph.shape(graph.input());
  return fmt::format("{} for {}x{} images with {} channels, {} classes\n\n", graph.name(),
                     in.height, in.width, in.channels, graph.classes()) +
         layers(graph) + "\n" + totals(graph, batch_per_rank) + "\n" +
         paragraph("MFLOP", 10,
                   "10^6 operations of forward, per image; a multiply-add is two; "
                   "convolutions and dense layers only, without biases") +
         paragraph("training", 10,
                   "forward, backward to the weights and backward to the inputs; "
                   "the first convolution needs no gradient of the image");
}

std::string layer_table(const LayerProfile& profile) {
  std::vector<LayerTime> passes = profile.layers;
  if (passes.empty() && profile.batch == 0) return "";
  if (passes.empty()) return "Layers: the first epoch has no full step after its first\n";
  const std::size_t count = passes.front().seconds.size();
  double whole = 0;
  for (LayerTime& pass : passes) {
    pass.layer += std::string(" ") + to_string(pass.pass);
    whole += (pass.seconds = {median_of(pass.seconds)}).front();
  }
  std::ranges::stable_sort(passes, std::greater(), time_of);
  sum_up_others(passes);
  TextTable table =
      number_table({"ms per micro-batch", "median", "share", "GFLOP/s", "GB/s", "of roof"});
  for (const LayerTime& pass : passes) {
    const double seconds = time_of(pass);
    table.add({pass.layer, fmt::format("{:.3f}", 1e3 * seconds),
               fmt::format("{:.1f} %", 100 * seconds / whole), rate_cell(pass.flops / 1e9, seconds),
               rate_cell(pass.bytes / 1e9, seconds),
               rate_cell(100 * pass.best.value_or(0), seconds, " %")});
  }
  std::string text =
      fmt::format("Layers, rank 0 ({} times {})\n", count, counted(profile.batch, "image")) +
      table.text();
  if (!profile.roof) return text;
  return text + fmt::format("  roof: {} GFLOP/s, {} GB/s\n", rate_text(profile.roof->flops / 1e9),
                            rate_text(profile.roof->bytes / 1e9));
}

std::string memory_table(const MemoryNeed& need) {
  TextTable table({Align::left, Align::right, Align::left}, 2);
  table.add({"model", bytes_text(need.of_model()), "the same for every batch"});
  add_parts(table, need, false);
  table.add({"batch", bytes_text(need.of_batch()), "grows with the batch"});
  add_parts(table, need, true);
  table.add({"total", bytes_text(need.total()), ""});
  return table.text();
}

std::string shortage_text(const MemoryShortage& s, const Texts& remedies) {
  std::string text = fmt::format(
      "out of memory: training with {} per rank and micro-batch takes {}, and {} has {} free",
      counted(s.batch, "image"), bytes_text(s.need), s.place, bytes_text(s.free));
  if (s.sharers > 1) text += fmt::format(" (a share of {})", counted(s.sharers, "rank"));
  if (!s.limit.empty()) text += fmt::format(" below the limit of the process ({})", s.limit);
  text += "; ";
  const char* before = ", or ";
  if (s.batch_is_fixed) {
    text += "the global batch is that of the run which is resumed: resume on more ranks";
  } else if (s.largest == 0) {
    text += "not even one image fits";
    before = ": give ";
  } else {
    text += fmt::format(
        "the largest batch that fits is {0}: give --batch-per-rank {0} or --batch-per-rank max",
        s.largest);
  }
  for (const std::string& remedy : remedies) text += std::exchange(before, ", or ") + remedy;
  return text;
}

}  // namespace rueda
