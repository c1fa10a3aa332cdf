// What only bf16 has: buffers of 2-byte elements; and sums of buffers of either type. The
// operations in bf16 are tested with those in fp32, by the same checks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/replica_bench.hpp"
#include "tests/support/rounding.hpp"
#include "tests/support/small_graphs.hpp"
#include "tests/support/training_bench.hpp"
#include "train/sgd.hpp"

namespace rueda::test {
namespace {

constexpr int kBatch = 2;

/// image -> carrier (10 channels, which no block and no vector fits) -> pool
Graph carrier_graph() {
  GraphBuilder g("carrier", {10, 3, 3});
  g.global_average_pool("pool", g.pad_shortcut("carrier", g.input(), 10, 1));
  return std::move(g).finish();
}

TEST_CASE("bf16 takes two bytes up to the global pooling, four from there", "[backend][bf16]") {
  const Graph graph = carrier_graph();
  for (const Variant& variant : variants()) {
    const auto bytes = [&](Precision precision, NodeId node) {
      return open_backend_under_test(variant, precision)->activation_bytes(graph, node, kBatch);
    };
    // The image's own channels may be padded in another way.
    CHECK(2 * bytes(Precision::bf16, 1) == bytes(Precision::fp32, 1));
    CHECK(bytes(Precision::bf16, 2) == bytes(Precision::fp32, 2));
  }
}

TEST_CASE("bf16 activations are written rounded and read as they are", "[backend][bf16]") {
  const Graph graph = carrier_graph();
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const auto backend = open_backend_under_test(variant, Precision::bf16);
    for (const NodeId node : {0, 1}) {
      Activation a(*backend, graph, node, kBatch);
      const Vector values = random_vector(1, 180);
      a.write(values);
      CHECK(a.read() == as_stored(values, Precision::bf16));
    }
    Activation pooled(*backend, graph, 2, kBatch);
    const Vector values = random_vector(2, 20);
    pooled.write(values);
    CHECK(pooled.read() == values);
  }
}

void check_sums(Precision precision) {
  const Graph graph = carrier_graph();
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const auto backend = open_backend_under_test(variant, precision);
    for (const NodeId node : {1, 2}) {
      const Precision stored = node == 1 ? precision : Precision::fp32;
      const std::size_t count = node == 1 ? 180 : 20;
      const Vector x = as_stored(random_vector(3, count), stored);
      const Vector y = as_stored(random_vector(4, count), stored);
      Activation a(*backend, graph, node, kBatch);
      Activation b(*backend, graph, node, kBatch);
      a.write(x);
      b.write(y);
      backend->sum_gradients(graph, node, kBatch, a.data(), a.data(), b.data());
      Vector expected;
      for (std::size_t i = 0; i < count; ++i) expected.push_back(double(float(x[i] + y[i])));
      CHECK(a.read() == as_stored(expected, stored));
    }
  }
}

TEST_CASE_OF_PRECISION("sum of gradients, rounded once, in place", "[backend]", check_sums)

TEST_CASE("bf16 batches hold the rounded pixels", "[backend][bf16]") {
  // Resized, for the pixels alone are few enough that bf16 holds them.
  constexpr int side = 20;
  ImageBench bench(side, kBatch, Precision::bf16);
  const ImageSet images = random_images(4);
  const auto held = bench.backend().hold(images);
  const std::vector<std::uint32_t> indices = {3, 1};
  const DeviceLabels labels(bench.backend(), {0, 0});
  bench.backend().make_batch({held.get(), indices, plain_transform(side), 8, 6}, bench.input(),
                             labels.data());
  CHECK(labels.read() == std::vector<std::int32_t>{9, 3});
  const Vector exact = reference_batch(images, indices, side).input.values;
  const Vector rounded = as_stored(exact, Precision::bf16);
  const bool rounding_shows = rounded != exact;
  REQUIRE(rounding_shows);
  CHECK(bench.read_input() == rounded);
}

TEST_CASE("bf16 keeps what is not finite", "[backend][bf16]") {
  const Graph graph = carrier_graph();
  const auto backend = open_backend_under_test(Precision::bf16);
  Activation a(*backend, graph, 1, kBatch);
  Vector values(180, 1.0);
  values[0] = std::nan("");
  values[1] = std::numeric_limits<double>::infinity();
  a.write(values);
  CHECK(std::isnan(a.read()[0]));
  CHECK(std::isinf(a.read()[1]));
}

constexpr int kSide = 9;

/// A backend holds images by reference.
const ImageSet& images() {
  static const ImageSet set = random_images(8);
  return set;
}

ReplicaBench narrow_bench(const Graph& graph, const Vector& parameters, std::size_t batch,
                          const Variant& variant = repeatable_variant()) {
  return {graph, images(), parameters, {batch}, {}, variant, Precision::bf16};
}

/// Random parameters with which every batch norm moves its channels by turns far above zero and far
/// below, so that no ReLU decides differently in bf16.
Vector decided_parameters(const Graph& graph, const ReferenceBatch& batch) {
  Vector values = smooth_parameters(graph, batch.input, batch.labels, 0);
  for (const Node& node : graph.nodes()) {
    const auto* norm = std::get_if<BatchNormNode>(&node.kind);
    if (norm == nullptr) continue;
    const Parameter& beta = graph.parameter(norm->beta);
    for (std::size_t c = 0; c < beta.count; ++c) values[beta.offset + c] = c % 2 == 0 ? 4 : -4;
  }
  return values;
}

/// Relative distance of a bf16 step's gradients from the exact ones. Every node rounds what it puts
/// out, and its gradient, by up to 2^-8; as independent errors they grow with the square root of
/// their number. Batch norm takes a mean and a slope away from its gradient, which leaves little of
/// it where all ReLUs are decided but the errors as they were; and a window of a max pool may take
/// another of nearly equal values: ten times that. (Over ten batches the worst layer's distance was
/// 0.06 on average on either backend, and 0.21 at most.)
double network_tolerance(const Graph& graph) {
  return 10 * 0x1p-8 * std::sqrt(2.0 * double(graph.nodes().size()));
}

TEST_CASE("replica: a step in bf16 is near the exact one", "[backend][replica][bf16]") {
  const std::vector<std::uint32_t> indices = {1, 2, 7, 4};
  const ReferenceBatch batch = reference_batch(images(), indices, kSide);
  for (const SmallGraph& small : small_graphs()) {
    const Graph graph = small.build(kSide);
    const Vector parameters = decided_parameters(graph, batch);
    const ReferenceStep expected =
        reference_step(graph, parameters, batch.input, batch.labels, 0.125);
    for (const Variant& variant : variants()) {
      CAPTURE(small.name, variant.name);
      ReplicaBench bench = narrow_bench(graph, parameters, indices.size(), variant);
      bench.step(indices, 0.125F);
      check_gradients(graph, to_doubles(bench.gradients()), expected.gradients,
                      network_tolerance(graph));
      const StepSums sums = bench.replica().step_sums();
      CHECK(double(sums.loss) == Approx(expected.loss).epsilon(0x1p-8));
      CHECK(sums.nonfinite == 0.0F);
    }
  }
}

TEST_CASE("replica: bf16 keeps updates that are smaller than a bf16 unit",
          "[backend][replica][bf16]") {
  const bool by_optimizer = GENERATE(false, true);
  const Graph graph = small_projection(kSide);
  Vector parameters(graph.parameter_count(), 1.0);
  ReplicaBench bench = narrow_bench(graph, parameters, 2);
  const auto gradients = [&] {
    bench.step({0, 1}, 0.5F);
    return bench.gradients();
  };
  const auto of_convolutions = [&](const auto& f) {
    for (const Parameter& p : graph.parameters())
      if (p.dims.size() == 4) f(p);
  };
  // Half a unit below 1 is 2^-9: one update of 2^-11 is rounded away in the packed weights.
  const auto update = [&] {
    of_convolutions([&](const Parameter& p) {
      const auto values = bench.replica().parameters().subspan(p.offset, p.count);
      const DeviceFloats velocities(bench.backend(), std::vector<float>(p.count, 0.0F));
      const DeviceFloats ones(bench.backend(), std::vector<float>(p.count, 1.0F));
      bench.backend().sgd_update(values, velocities.span(), ones.span(),
                                 {.learning_rate = 0x1p-11F});
      bench.backend().finish();  // before the memory goes
    });
    if (by_optimizer)
      bench.replica().parameters_updated();
    else
      bench.replica().parameters_changed();
  };
  const std::vector<float> before = gradients();
  update();
  CHECK(gradients() == before);
  for (int i = 1; i < 16; ++i) update();
  of_convolutions([&](const Parameter& p) {
    const float value = bench.read(bench.replica().parameters().subspan(p.offset, 1)).front();
    CHECK(value == 1.0F - 16 * 0x1p-11F);
    std::fill_n(parameters.begin() + std::ptrdiff_t(p.offset), p.count, double(value));
  });
  const std::vector<float> after = gradients();
  CHECK(after != before);
  ReplicaBench fresh = narrow_bench(graph, parameters, 2);
  fresh.step({0, 1}, 0.5F);
  CHECK(fresh.gradients() == after);
}

/// Updates by micro-batches of which a device records the second and replays those after it. The
/// arena begins each as NaN, which shows a gradient that is read but not there.
class LeavingBench {
 public:
  explicit LeavingBench(bool leaves)
      : bench_(narrow_bench(graph_, some_parameters(graph_), 2)),
        sgd_(bench_.backend(), bench_.replica().parameters(), {.momentum = 0.5F}) {
    bench_.replica().leave_gradients(leaves);
  }
  Replica& replica() { return bench_.replica(); }
  void compute(const std::vector<std::uint32_t>& images = {0, 1}) {
    bench_.load(images);
    bench_.backend().upload(gradients(), std::vector<float>(gradients().size(), NAN));
    replica().compute(0.5F);
  }
  /// All gradients lie in the arena.
  void check_complete() {
    const std::vector<float> all = bench_.read(gradients());
    CHECK(std::ranges::none_of(all, [](float value) { return std::isnan(value); }));
  }
  std::vector<float> updated() {
    sgd_.update(replica().parameters(), gradients(), 0, 0.125);
    replica().parameters_updated();
    bench_.backend().finish();
    return bench_.read(replica().parameters());
  }

 private:
  std::span<float> gradients() {
    return replica().gradients().first(replica().parameters().size());
  }

  Graph graph_ = small_projection(kSide);
  ReplicaBench bench_;
  Sgd sgd_;
};

TEST_CASE("replica: an update by gradients that are left has the same bits",
          "[backend][replica][bf16]") {
  LeavingBench left(true), complete(false);
  for (int step = 0; step < 4; ++step) {
    left.compute();
    complete.compute();
    complete.check_complete();
    CHECK(left.updated() == complete.updated());
  }
  left.compute({});  // leaves none, after those of the step before
  complete.compute({});
  CHECK(left.updated() == complete.updated());
}

TEST_CASE("replica: no gradient is left where others read it", "[backend][replica][bf16]") {
  LeavingBench bench(true);
  SECTION("for norms") { bench.replica().measure_norms(true); }
  SECTION("in buckets") { bench.replica().announce_buckets({bench.replica().gradients().size()}); }
  SECTION("where something disturbs") {
    bench.replica().disturb([](Mark) {});
  }
  SECTION("after steps in which they were") {
    for (int step = 0; step < 3; ++step) bench.compute();
    bench.replica().leave_gradients(false);
  }
  for (int step = 0; step < 3; ++step) {
    bench.compute();
    bench.check_complete();
  }
}

struct Losses {
  double first = 0;
  double last = 0;
};

/// Of the first and the last of so many epochs, summed over seeds from 1 on.
Losses losses_of_training(Precision precision, std::size_t epochs, std::uint64_t seeds) {
  TrainConfig config = small_run();
  config.device.precision = precision;
  config.training.epochs = epochs;
  config.optimizer.lr = 0.05;
  config.optimizer.scale_lr = ScaleLr::none;
  Losses sum;
  for (config.training.seed = 1; config.training.seed <= seeds; ++config.training.seed) {
    const RunRecord run = SoloTraining(config).train();
    sum.first += run.epochs.front().train.loss;
    sum.last += run.epochs.back().train.loss;
  }
  return sum;
}

/// In few steps another rounding does not lead far yet. The last losses of one seed differ by 5 %
/// (standard deviation of 12 seeds), to either side, also where sums are taken in another order.
TEST_CASE("trainer: bf16 begins to learn as fp32 does", "[backend][trainer][bf16]") {
  const Losses wide = losses_of_training(Precision::fp32, 2, 4);
  const Losses narrow = losses_of_training(Precision::bf16, 2, 4);
  CHECK(narrow.first != wide.first);
  CHECK(narrow.first == Approx(wide.first).epsilon(0.1));
  CHECK(narrow.last == Approx(wide.last).epsilon(0.1));
  CHECK(narrow.last < narrow.first);
}

/// Another rounding leads elsewhere as another seed does: single last losses differ by a fifth to a
/// half, to either side (and by a factor of five between seeds). Sums of three differ less.
TEST_CASE("trainer: bf16 learns as fp32 does", "[backend][trainer][bf16][long]") {
  const Losses wide = losses_of_training(Precision::fp32, 8, 3);
  const Losses narrow = losses_of_training(Precision::bf16, 8, 3);
  CHECK(narrow.first != wide.first);
  CHECK(narrow.first < 1.1 * wide.first);
  CHECK(narrow.last < 0.5 * narrow.first);
  CHECK(narrow.last < 1.5 * wide.last);
  CHECK(wide.last < 1.5 * narrow.last);
}

}  // namespace
}  // namespace rueda::test
