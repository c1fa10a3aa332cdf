#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <variant>

#include <fmt/format.h>

#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "commands/bench/bench.hpp"
#include "data/synth.hpp"
#include "launch/control_group.hpp"
#include "launch/machine.hpp"
#include "model/flops.hpp"
#include "model/registry.hpp"
#include "record/json_parts.hpp"
#include "rueda/data/dataset.hpp"
#include "run/run_directory.hpp"
#include "run/train_setup.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/versions.hpp"
#include "study/table_json.hpp"
#include "train/sgd.hpp"
#include "train/train_input.hpp"

namespace rueda {
namespace {

constexpr std::array kProducts = {Product::forward, Product::data, Product::weights};
using Seconds = std::vector<double>;  // by repetition

/// One product of one convolution.
struct Kernel {
  NodeId node = 0;
  std::size_t product = 0;
  Seconds seconds = {};
};

/// Convolutions of a shape; by product.
struct Group {
  std::string shape = {};
  double count = 0;
  std::array<double, kProducts.size()> flops = {}, seconds = {};
};

Fields fields_of(const Group& group, double peak) {
  Fields fields = {{{"shape", "shape"}, group.shape}, {{"count", "x", Show::count}, group.count}};
  for (std::size_t i = 0; i < kProducts.size(); ++i) {
    const std::string word = to_string(kProducts[i]);
    const double rate = group.flops[i] / group.seconds[i];  // NaN: the image has no gradient
    fields.push_back({{word + "_seconds", word, Show::millis}, group.flops[i] / rate});
    fields.push_back({{word + "_gflops", "GFLOP/s", Show::rate}, rate / 1e9});
    fields.push_back({{word + "_share", "%", Show::percent}, rate / peak});
  }
  return fields;
}

/// Along a side, how often a place of the kernel meets a pixel, not padding.
double meetings(const ConvNode& conv, int pixels, int outputs) {
  double count = 0;
  for (int at = -conv.padding; outputs > 0; at += conv.stride, --outputs)
    count += std::min(at + conv.kernel, pixels) - std::max(at, 0);
  return count;
}

/// A shape as "64>128 3x3/2 32x32" (channels, kernel and stride, pixels of the
/// input), and the FLOPs of a product for an image. Kernels leave out the
/// padding, so it does not count.
std::pair<std::string, double> describe(const Graph& graph, const Node& node) {
  const auto& conv = std::get<ConvNode>(node.kind);
  const auto [channels, height, width] = graph.shape(node.inputs.front());
  return {fmt::format("{}>{} {}x{}/{} {}x{}", channels, conv.filters, conv.kernel, conv.kernel,
                      conv.stride, height, width),
          2.0 * channels * conv.filters * meetings(conv, height, node.output.height) *
              meetings(conv, width, node.output.width)};
}

/// The training step of one rank, and its convolutions alone.
class LayersBench {
 public:
  /// Measures in turn the peak, each product, and a step.
  explicit LayersBench(const BenchLayersOptions& options) : options_(options) {
    const std::size_t batch = train_.batch.per_rank;
    const auto classes = std::min(std::size_t(options_.classes), kMostDrawnClasses);
    Replica replica(graph_, *backend_, {batch}, {});
    replica.initialise(train_.training.seed);
    const std::span<float> values = replica.parameters();
    Sgd sgd(*backend_, values,
            {0, float(train_.optimizer.momentum), float(train_.optimizer.weight_decay)});
    const ImageSet images = draw_synthetic({.train = batch, .test = 0, .classes = classes}).train;
    const auto held = backend_->hold(images);
    std::vector<std::uint32_t> indices(batch);
    std::iota(indices.begin(), indices.end(), 0U);
    const auto step = [&] {
      replica.load({held.get(), {indices, pixel_transform(train_)}});
      replica.compute(1.0F / float(batch));
      sgd.update(values, replica.gradients().first(values.size()), 0, train_.optimizer.lr);
      replica.update_running_statistics(float(batch));
      replica.parameters_changed();
    };
    step();  // warms up
    for (NodeId id = 1; id <= graph_.logits(); ++id)
      for (std::size_t i = 0; i < kProducts.size(); ++i)
        if (replica.program().operation(id).run(kProducts[i])) kernels_.push_back({id, i});
    for (std::size_t done = 0; done < options_.repetitions; ++done) {
      const Peak peak = backend_->peak();
      if (peak.flops > peak_.flops) peak_ = peak;
      for (Kernel& kernel : kernels_) {
        Operation& operation = replica.program().operation(kernel.node);
        operation.run(kProducts[kernel.product]);  // in a step, too, its operands were just used
        const Stopwatch watch;
        operation.run(kProducts[kernel.product]);
        kernel.seconds.push_back(watch.seconds());
      }
      const Stopwatch watch;
      step();
      steps_.push_back(watch.seconds());
    }
  }

  Tables tables() const {
    std::vector<Group> groups;
    Group all{"all"};
    for (const auto& [node, product, seconds] : kernels_) {
      const auto shape = describe(graph_, graph_.node(node));
      Group& own = group_of(groups, [&](const Group& g) { return g.shape == shape.first; });
      own.shape = shape.first;
      for (Group* group : {&own, &all}) {
        if (kProducts[product] == Product::forward) ++group->count;
        group->flops[product] += images_ * shape.second;
        group->seconds[product] += median_of(seconds);
      }
    }
    groups.push_back(all);
    Table shapes{"shapes", "Convolutions: ms of all of a shape, GFLOP/s, % of the peak"};
    for (const Group& group : groups) shapes.add_fields(fields_of(group, peak_.flops));
    return {setting(), shapes, whole(std::reduce(all.seconds.begin(), all.seconds.end()))};
  }

 private:
  Table setting() const {
    Table table{"setting", "On " + backend_->device()};
    table.add_fields({{{"model", "model"}, train_.model.name},
                      {{"image_size", "pixels", Show::count}, double(train_.model.image_size)},
                      {{"classes", "classes", Show::count}, double(options_.classes)},
                      {{"batch_per_rank", "images", Show::count}, images_},
                      {{"precision", "precision"}, to_string(train_.device.precision)},
                      {{"threads", "threads", Show::count}, double(threads_)},
                      {{"peak_by", "peak"}, peak_.by},
                      {{"peak_gflops", "GFLOP/s", Show::rate}, peak_.flops / 1e9}});
    return table;
  }

  Table whole(double convolutions) const {
    const double step = median_of(steps_);
    const double flops = images_ * double(training_flops(graph_));
    Table table{"step", "A training step without communication"};
    table.add_fields(
        {{{"convolution_seconds", "convolutions ms", Show::millis}, convolutions},
         {{"step_seconds", "step ms", Show::millis}, step},
         {{"convolution_share", "share %", Show::percent}, convolutions / step},
         {{"gflops_per_core", "GFLOP/s per core", Show::rate}, flops / step / threads_ / 1e9},
         {{"images_per_second", "images/s", Show::rate}, images_ / step}});
    return table;
  }

  const BenchLayersOptions& options_;
  const TrainConfig& train_ = options_.train;
  const double images_ = double(train_.batch.per_rank);
  const int threads_ =
      choose_threads({{allowed_cores()}, online_cores(), control_group_limits().quota.value}, 0,
                     train_.device.threads)
          .threads;
  std::unique_ptr<Backend> backend_ = open_backend(
      {.choice = BackendChoice::cpu, .precision = train_.device.precision, .threads = threads_});
  const Graph graph_ =
      backend_->prepare(build_model(train_.model.name, train_.model.image_size, options_.classes));
  Peak peak_;
  std::vector<Kernel> kernels_;
  Seconds steps_;
};

}  // namespace

void run_command(const BenchLayersOptions& options, std::ostream& out) {
  check_output_file("--json", options.json);
  Json json = {{"rueda_bench", bench::kRecordVersion},
               {"what", "layers"},
               {"started_at", utc_now()},
               {"versions", json_of(component_versions())},
               {"repetitions", options.repetitions}};
  for (const Table& table : LayersBench(options).tables()) {
    out << to_text(table) << '\n';
    json[table.id] = rows_json(table);
  }
  if (!options.json.empty()) write_output(options.json, text_of(json, 1) + '\n');
}

}  // namespace rueda
