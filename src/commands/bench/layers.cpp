#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <variant>

#include <fmt/format.h>

#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "commands/bench/bench.hpp"
#include "data/synth.hpp"
#include "display/text.hpp"
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
  std::size_t count = 0;
  std::array<double, kProducts.size()> flops = {}, seconds = {};
};

/// A figure: for programs by its key, for people as a text below its heading.
struct Figure {
  std::string key, heading;
  Json value;
  std::string text;
};

Figure word(const std::string& key, const std::string& heading, const std::string& text) {
  return {key, heading, text, text};
}
Figure count(const std::string& key, const std::string& heading, std::size_t number) {
  return {key, heading, number, count_text(number)};
}
/// What was not measured is NaN: null for programs, a dash for people.
Figure measured(const std::string& key, const std::string& heading, double value,
                const std::string& text) {
  if (std::isnan(value)) return {key, heading, nullptr, "-"};
  return {key, heading, value, text};
}
Figure millis(const std::string& key, const std::string& heading, double seconds) {
  return measured(key, heading, seconds, rate_text(seconds * 1e3));
}
Figure rate(const std::string& key, const std::string& heading, double per_second) {
  return measured(key, heading, per_second, rate_text(per_second));
}
Figure percent(const std::string& key, const std::string& heading, double share) {
  return measured(key, heading, share, fmt::format("{:.1f}", share * 100));
}

using Row = std::vector<Figure>;

/// Rows of equal figures.
struct Figures {
  const char* id;
  std::string title;
  std::vector<Row> rows;
};

/// A text stands to the left; the numbers stand to the right.
std::string text_of(const Figures& figures) {
  std::vector<Align> columns;
  for (const Figure& one : figures.rows.front())
    columns.push_back(one.value.is_string() ? Align::left : Align::right);
  TextTable table(columns, 2);
  table.add(values_of(figures.rows.front(), &Figure::heading));
  for (const Row& row : figures.rows) table.add(values_of(row, &Figure::text));
  return figures.title + "\n" + table.text();
}

Json json_of(const Figures& figures) {
  Json rows = Json::array();
  for (const Row& row : figures.rows) {
    Json one = Json::object();
    for (const Figure& figure : row) one[figure.key] = figure.value;
    rows.push_back(std::move(one));
  }
  return rows;
}

Row row_of(const Group& group, double peak) {
  Row row = {word("shape", "shape", group.shape), count("count", "x", group.count)};
  for (std::size_t i = 0; i < kProducts.size(); ++i) {
    const std::string product = to_string(kProducts[i]);
    const double per_second = group.flops[i] / group.seconds[i];  // NaN: the image has no gradient
    row.push_back(millis(product + "_seconds", product, group.flops[i] / per_second));
    row.push_back(rate(product + "_gflops", "GFLOP/s", per_second / 1e9));
    row.push_back(percent(product + "_share", "%", per_second / peak));
  }
  return row;
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
    Sgd sgd(*backend_, values, train_.optimizer, graph_);
    replica.leave_gradients(true);
    const ImageSet images = draw_synthetic({.train = batch, .test = 0, .classes = classes}).train;
    const auto held = backend_->hold(images);
    std::vector<std::uint32_t> indices(batch);
    std::iota(indices.begin(), indices.end(), 0U);
    const auto step = [&] {
      replica.load({held.get(), {indices, pixel_transform(train_)}});
      replica.compute(1.0F / float(batch));
      sgd.update(values, replica.gradients().first(values.size()), 0, train_.optimizer.lr);
      replica.update_running_statistics(float(batch));
      replica.parameters_updated();
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

  std::vector<Figures> figures() const {
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
    Figures shapes{"shapes", "Convolutions: ms of all of a shape, GFLOP/s, % of the peak", {}};
    for (const Group& group : groups) shapes.rows.push_back(row_of(group, peak_.flops));
    return {setting(), shapes, whole(std::reduce(all.seconds.begin(), all.seconds.end()))};
  }

 private:
  Figures setting() const {
    return {"setting",
            "On " + backend_->device(),
            {{word("model", "model", train_.model.name),
              count("image_size", "pixels", std::size_t(train_.model.image_size)),
              count("classes", "classes", std::size_t(options_.classes)),
              count("batch_per_rank", "images", train_.batch.per_rank),
              word("precision", "precision", to_string(train_.device.precision)),
              count("threads", "threads", std::size_t(threads_)), word("peak_by", "peak", peak_.by),
              rate("peak_gflops", "GFLOP/s", peak_.flops / 1e9)}}};
  }

  Figures whole(double convolutions) const {
    const double step = median_of(steps_);
    const double flops = images_ * double(training_flops(graph_));
    return {"step",
            "A training step without communication",
            {{millis("convolution_seconds", "convolutions ms", convolutions),
              millis("step_seconds", "step ms", step),
              percent("convolution_share", "share %", convolutions / step),
              rate("gflops_per_core", "GFLOP/s per core", flops / step / threads_ / 1e9),
              rate("images_per_second", "images/s", images_ / step)}}};
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
  for (const Figures& figures : LayersBench(options).figures()) {
    out << text_of(figures) << '\n';
    json[figures.id] = json_of(figures);
  }
  if (!options.json.empty()) write_output(options.json, rueda::text_of(json, 1) + '\n');
}

}  // namespace rueda
