#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "backend/replica.hpp"
#include "backend/simple_operation.hpp"
#include "backend/timed/timed_backend.hpp"
#include "base/clock.hpp"
#include "base/split.hpp"
#include "data/synth.hpp"
#include "kernels/square_sum.hpp"
#include "mpi/sums/ring_all_reduce.hpp"
#include "mpi/sums/wire_ring_all_reduce.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "tests/support/small_graphs.hpp"
#include "tests/support/thread_exchange.hpp"
#include "tests/support/thread_group.hpp"
#include "tests/support/training_bench.hpp"
#include "tests/support/values.hpp"
#include "train/gradient_reducer.hpp"
#include "train/train_loop.hpp"

// Made gradients, of which mean and covariance are known, through the replica, the buckets, the
// ring and the loop that training uses.

namespace rueda::test {
namespace {

constexpr std::size_t kImages = 400;
constexpr std::size_t kGlobalBatch = 20;
constexpr std::size_t kSteps = kImages / kGlobalBatch;
constexpr std::size_t kEpochs = 100;

/// The gradient of each image, and what is true of all of them.
struct MadeGradients {
  std::size_t length;
  std::vector<float> values;  ///< [image][parameter]
  double norm2 = 0;           ///< |G|^2
  double variance = 0;        ///< S

  explicit MadeGradients(std::size_t parameters) : length(parameters) {
    for (std::size_t i = 0; i < kImages * length; ++i)
      values.push_back(float(0.1 + 1.5 * nearly_normal(17, 0x6d616465, i)));
    for (std::size_t p = 0; p < length; ++p) {
      double mean = 0;
      for (std::size_t i = 0; i < kImages; ++i) mean += at(i, p) / kImages;
      norm2 += mean * mean;
      for (std::size_t i = 0; i < kImages; ++i)
        variance += (at(i, p) - mean) * (at(i, p) - mean) / (kImages - 1);
    }
  }
  double at(std::size_t image, std::size_t parameter) const {
    return double(values[image * length + parameter]);
  }
};

/// A backend whose backward pass leaves the made gradients of its micro-batch, tensor by tensor as
/// the layers come. Its parameters stay as they are.
class MadeBackend final : public timed::TimedBackend {
 public:
  MadeBackend(const Graph& graph, const MadeGradients& made)
      : TimedBackend({.seconds = 0, .images = 1}, {}), made_(made) {
    for (const Parameter& p : graph.parameters()) ends_.push_back(p.offset + p.count);
    completing_ = completing_nodes(graph, ends_);
  }

  std::string_view name() const override { return "made"; }
  void make_batch(const BatchRequest& request, std::byte*, std::int32_t*) override {
    images_.assign(request.choice.indices.begin(), request.choice.indices.end());
  }
  void bind_parameters(const Graph&, const ParameterMemory& memory) override {
    gradients_ = memory.gradients;
  }
  std::unique_ptr<Operation> make_operation(const NodeRequest& r) override {
    const auto nothing = [](const OperationMemory&) {};
    const NodeId node = r.node;
    return std::make_unique<SimpleOperation>(OperationNeeds{}, nothing,
                                             [=, this](const OperationMemory&) { write(node); });
  }
  void softmax_cross_entropy(const LossRequest& r) override {
    scale_ = double(*r.scale);
    *r.sums = {1, 0};
  }
  void write_step_sums(StepSums* to, const LossSums* sums, std::span<const float>, float samples,
                       RankFlags*) override {
    *to = {.loss = sums->loss, .samples = samples};
  }
  void square_sums(std::span<const float> values, std::span<const std::size_t> ends,
                   std::span<double> to) override {
    for (std::size_t k = 0, begin = 0; k < ends.size(); begin = ends[k++]) {
      const float* from = values.data() + begin;
      const auto square = [=](std::size_t i) { return kernels::square(from[i]); };
      to[k] = kernels::lane_sum(ends[k] - begin, square);
    }
  }
  void write_part_squares(StepSums* to, std::span<const double> squares, float images,
                          RankFlags*) override {
    double sum = 0;
    for (const double square : squares) sum += square;
    to->part_squares = kernels::part_squares(sum, images);
    to->parts = 1;
  }

 private:
  void write(NodeId node) {
    for (std::size_t t = 0; t < ends_.size(); ++t)
      if (completing_[t] == node) write({t == 0 ? 0 : ends_[t - 1], ends_[t]});
  }
  void write(Range tensor) {
    std::vector<double> sums(tensor.size());
    for (const std::uint32_t image : images_)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += made_.at(image, tensor.begin + i);
    for (std::size_t i = 0; i < sums.size(); ++i)
      gradients_[tensor.begin + i] = float(scale_ * sums[i]);
  }

  const MadeGradients& made_;
  std::vector<std::size_t> ends_;
  std::vector<NodeId> completing_;
  std::vector<std::uint32_t> images_;
  std::span<float> gradients_;
  double scale_ = 0;
};

struct Way {
  const char* name;
  int ranks;
  std::size_t micro_batches = 1;
  std::vector<std::size_t> shares = {};
  bool overlaps = false;
  bool bf16 = false;
  std::size_t bucket_bytes = 0;
};

const Way kWays[] = {
    {"micro-batches", 1, 4},
    {"two ranks, buckets", 2, 1, {}, true, false, 400},
    {"three ranks, micro-batches, one bucket", 3, 2},
    {"uneven parts, buckets", 4, 1, {9, 5, 5, 1}, true, false, 400},
    {"a rank without images", 4, 1, {10, 6, 4, 0}, false, false, 400},
    {"bf16 on the wire", 5, 1, {}, true, true, 400},
    {"uneven parts, micro-batches, bf16 on the wire", 5, 2, {8, 4, 4, 2, 2}, false, true, 400},
};

std::unique_ptr<AllReduce> ring_of(const Way& way, ThreadGroup& group, ReduceDevice& device) {
  auto exchange = std::make_unique<ThreadExchange>(group);
  if (way.bf16) return std::make_unique<WireRingAllReduce>(std::move(exchange), device);
  return std::make_unique<RingAllReduce>(std::move(exchange), device);
}

struct Measured {
  RunRecord run;  ///< of rank 0
  RunPlan plan;
};

void train_rank(const Way& way, const TrainConfig& config, const Graph& graph,
                const MadeGradients& made, ThreadGroup& group, Measured& measured) {
  const Dataset data = draw_synthetic({.train = kImages, .test = 1});
  RunPlan plan = plan_run(config, std::size_t(group.size()), kImages);
  plan.sampler.shares = way.shares;
  MadeBackend backend(graph, made);
  Replica replica(
      graph, backend,
      std::make_unique<ReplicaPlan>(
          graph, backend, micro_batch_sizes(plan, Sampler(plan.sampler), std::size_t(group.rank())),
          std::vector<std::size_t>{1}, Recompute::none, plan.world));
  const auto ring = ring_of(way, group, backend.reduce_device());
  GradientReducer reducer(
      {replica, *ring,
       plan_buckets(graph,
                    {.most_bytes = way.bucket_bytes, .tail_apart = way.bf16, .ranks = plan.world}),
       way.overlaps});
  Listener listener;
  const Stopwatch clock;
  RunRecord run;
  run.config = config;
  run.ranks.resize(std::size_t(group.size()));
  TrainLoop({config, plan, group, replica, reducer, data, listener, clock}).run(run);
  if (group.rank() == 0) measured = {std::move(run), plan};
}

Measured train_made(const Way& way, const Graph& graph, const MadeGradients& made,
                    std::size_t epochs, std::uint64_t seed,
                    std::size_t noise_scale = kAutoNoiseScale) {
  TrainConfig config;
  config.checks.noise_scale = noise_scale;
  config.training.epochs = epochs;
  config.training.eval_every = 0;
  config.training.seed = seed;
  config.batch.global = kGlobalBatch;
  config.batch.accumulate = way.micro_batches;
  Measured measured;
  ThreadGroup::run(way.ranks, [&](ThreadGroup& group) {
    train_rank(way, config, graph, made, group, measured);
  });
  return measured;
}

/// In double, from the images that each part draws.
StepNorms expected_norms(const MadeGradients& made, const Sampler& sampler, std::size_t parts,
                         std::size_t step) {
  StepNorms norms{.images = double(kGlobalBatch), .part_norm2 = 0, .gradient_norm2 = 0};
  std::vector<double> whole(made.length);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::vector<std::uint32_t> images = sampler.indices(step, part);
    if (images.empty()) continue;
    ++norms.parts;
    double norm2 = 0;
    for (std::size_t p = 0; p < made.length; ++p) {
      double sum = 0;
      for (const std::uint32_t image : images) sum += made.at(image, p);
      whole[p] += sum / double(kGlobalBatch);
      norm2 += sum / double(images.size()) * sum / double(images.size());
    }
    norms.part_norm2 += double(images.size()) / double(kGlobalBatch) * norm2;
  }
  for (const double g : whole) norms.gradient_norm2 += g * g;
  return norms;
}

}  // namespace

TEST_CASE("noise scale of a run: each step's norms are those of its images", "[noise][trainer]") {
  const Graph graph = small_option_a(8);
  const MadeGradients made(graph.parameter_count());
  for (const Way& way : kWays) {
    CAPTURE(way.name);
    const Measured measured = train_made(way, graph, made, 2, 3);
    Sampler sampler(measured.plan.sampler);
    REQUIRE(measured.run.epochs.size() == 2);
    for (const EpochRecord& epoch : measured.run.epochs) {
      sampler.set_epoch(epoch.epoch - 1);
      REQUIRE(epoch.step_records[0].size() == kSteps);
      for (std::size_t step = 0; step < kSteps; ++step) {
        const StepNorms expected = expected_norms(made, sampler, measured.plan.sampler.parts, step);
        const StepNorms& found = epoch.step_records[0][step].norms;
        CAPTURE(epoch.epoch, step);
        CHECK(found.images == expected.images);
        CHECK(found.parts == expected.parts);
        CHECK(found.part_norm2 == Approx(expected.part_norm2).epsilon(1e-5));
        CHECK(found.gradient_norm2 ==
              Approx(expected.gradient_norm2).epsilon(way.bf16 ? 1e-3 : 1e-5));
      }
      REQUIRE(epoch.gradient_noise);
      CHECK(epoch.gradient_noise->batch == kGlobalBatch);
      CHECK(epoch.gradient_noise->steps == kSteps);
    }
  }
}

TEST_CASE("noise scale of a run: 90 % intervals contain the truth in 85 to 95 of 100 epochs",
          "[noise][trainer]") {
  const Graph graph = small_option_a(8);
  const MadeGradients made(graph.parameter_count());
  const double truth = made.variance / made.norm2;
  REQUIRE(truth > 5 * kGlobalBatch);  // else a whole epoch's steps would depend on each other
  std::size_t covered = 0, all = 0;
  for (const Way& way : kWays) {
    const Measured measured = train_made(way, graph, made, kEpochs, ++all);
    std::size_t of_way = 0;
    double variance = 0, norm2 = 0;
    for (const EpochRecord& epoch : measured.run.epochs) {
      const GradientNoise& noise = epoch.gradient_noise.value();
      variance += noise.variance / kEpochs;
      norm2 += noise.gradient_norm2 / kEpochs;
      of_way += noise.low <= truth && truth <= noise.high ? 1 : 0;
    }
    CAPTURE(way.name, truth, of_way);
    CHECK(variance == Approx(made.variance).epsilon(0.01));
    CHECK(norm2 == Approx(made.norm2).epsilon(0.03));
    CHECK(of_way >= 80);
    covered += of_way;
  }
  CAPTURE(covered);
  CHECK(covered >= 85 * std::size(kWays));
  CHECK(covered <= 95 * std::size(kWays));
}

TEST_CASE("noise scale of a run: every Nth step of the run, or none", "[noise][trainer]") {
  const Graph graph = small_option_a(8);
  const MadeGradients made(graph.parameter_count());
  for (const std::size_t interval : {0U, 1U, 3U, 100U}) {
    const Measured measured = train_made({"", 1, 2}, graph, made, 2, 1, interval);
    std::size_t step = 0;
    for (const EpochRecord& epoch : measured.run.epochs) {
      std::size_t steps = 0;
      for (const StepRecord& record : epoch.step_records[0]) {
        const bool due = interval > 0 && ++step % interval == 0;
        CHECK(record.norms.measured() == due);
        steps += due ? 1 : 0;
      }
      CHECK(epoch.gradient_noise.has_value() == (steps > 0));
      if (steps > 0) CHECK(epoch.gradient_noise->steps == steps);
    }
  }
}

}  // namespace rueda::test
