#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "kernels/pixel.hpp"
#include "tests/support/reference_network.hpp"
#include "tests/support/training_bench.hpp"

// A whole small training against one in double precision, written down here from the definitions:
// partial batch, accumulation, weight decay, Nesterov, warm-up, augmentation, evaluation. Tests
// that compare two runs of the trainer share its mistakes; this one does not.
//
// Rounding alone changes parameters by less than 1e-6. But where an input of a ReLU is nearly zero,
// rounding may decide its sign, hence whether a gradient passes: then the two trainings part. That
// happens in about one training of three, and depends on the processor. A mistake of the trainer
// shows with every seed, so the nearest of a few seeds counts, with limits near rounding.

using namespace rueda;
using rueda::test::ReferenceStep;
using rueda::test::SoloTraining;
using rueda::test::Tensor;
using rueda::test::Vector;

namespace {

/// The trainer's state in double, moved on step by step.
class Float64Training {
 public:
  Float64Training(const SoloTraining& of, Vector parameters, Vector running)
      : of_(of),
        parameters_(std::move(parameters)),
        running_(std::move(running)),
        velocities_(parameters_.size()) {}

  /// Mean loss of the step, before its update.
  double step(std::size_t epoch, std::size_t step, const std::vector<std::uint32_t>& samples,
              const std::vector<Range>& micro_batches) {
    Vector gradients(parameters_.size());
    Vector statistics(running_.size());
    double loss = 0;
    for (const Range& part : micro_batches) {
      const std::vector<std::uint32_t> mine(samples.begin() + long(part.begin),
                                            samples.begin() + long(part.end));
      loss += micro_batch(epoch, mine, double(samples.size()), gradients, statistics);
    }
    const double now = rate(epoch, step);
    for (const Parameter& p : of_.graph.parameters()) update(p, gradients, now);
    update_running(statistics, double(samples.size()));
    return loss / double(samples.size());
  }

  /// Mean loss over the test images, which are never augmented.
  double evaluate() const {
    const ImageSet& test = of_.data.test;
    std::vector<std::uint32_t> all(test.size());
    std::iota(all.begin(), all.end(), 0U);
    const Tensor logits =
        reference_logits(of_.graph, parameters_, running_, images(test, all, std::nullopt));
    return test::softmax_cross_entropy(logits, labels(test, all), 1).loss / double(test.size());
  }

  const Vector& parameters() const { return parameters_; }
  const Vector& running() const { return running_; }

 private:
  double micro_batch(std::size_t epoch, const std::vector<std::uint32_t>& samples, double of_step,
                     Vector& gradients, Vector& statistics) const {
    if (samples.empty()) return 0;
    const ImageSet& train = of_.data.train;
    const ReferenceStep one =
        reference_step(of_.graph, parameters_, images(train, samples, epoch),
                       labels(train, samples), 1 / of_step, of_.config.training.label_smoothing);
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] += one.gradients[i];
    add_statistics(one.statistics, double(samples.size()), statistics);
    return one.loss;
  }

  /// Means and unbiased variances, weighted by samples.
  void add_statistics(const Vector& of_batch, double samples, Vector& statistics) const {
    for (const Node& node : of_.graph.nodes()) {
      const auto* bn = std::get_if<BatchNormNode>(&node.kind);
      if (bn == nullptr) continue;
      const auto channels = std::size_t(node.output.channels);
      const double values = samples * node.output.height * node.output.width;
      for (std::size_t i = 0; i < 2 * channels; ++i) {
        const double unbiased = i < channels ? 1 : values / (values - 1);
        const std::size_t at = bn->statistics_offset + i;
        statistics[at] += samples * unbiased * of_batch[at];
      }
    }
  }

  /// With LARS the rate stands inside the velocity.
  void update(const Parameter& p, const Vector& gradients, double rate) {
    const OptimizerConfig& c = of_.config.optimizer;
    const bool lars = c.optimizer == OptimizerChoice::lars;
    const bool decays = !lars || p.dims.size() > 1;
    const double decay = decays ? c.weight_decay : 0;
    double inside = 1;
    if (lars) inside = std::exchange(rate, 1.0);
    if (lars && decays) {
      const double norm = norm_of(parameters_, p);
      inside *= c.lars_trust * norm / (norm_of(gradients, p) + decay * norm + c.lars_epsilon);
    }
    for (std::size_t i = p.offset; i < p.offset + p.count; ++i) {
      const double g = inside * (gradients[i] + decay * parameters_[i]);
      velocities_[i] = c.momentum * velocities_[i] + g;
      parameters_[i] -= rate * (g + c.momentum * velocities_[i]);
    }
  }

  static double norm_of(const Vector& arena, const Parameter& p) {
    double sum = 0;
    for (std::size_t i = p.offset; i < p.offset + p.count; ++i) sum += arena[i] * arena[i];
    return std::sqrt(sum);
  }

  void update_running(const Vector& sums, double samples) {
    for (std::size_t i = 0; i < running_.size(); ++i)
      running_[i] = 0.9 * running_[i] + 0.1 * sums[i] / samples;
  }

  /// Rises linearly over the first epoch to `lr`, then falls as half a cosine to 0.
  double rate(std::size_t epoch, std::size_t step) const {
    constexpr double kSteps = 3;
    if (epoch == 0) return of_.config.optimizer.lr * double(step + 1) / kSteps;
    const double done = double((epoch - 1) * 3 + step);
    const double all = kSteps * double(of_.config.training.epochs - 1);
    return of_.config.optimizer.lr * (1 + std::cos(std::acos(-1.0) * done / all)) / 2;
  }

  /// Augmented as in `epoch` (from 0), or not at all.
  Tensor images(const ImageSet& set, const std::vector<std::uint32_t>& samples,
                std::optional<std::size_t> epoch) const {
    const int side = of_.config.model.image_size;
    kernels::PixelTransform transform{.image_size = side, .augment = epoch.has_value()};
    for (float& scale : transform.scale) scale = 1.0F / 255.0F;
    Tensor made(int(samples.size()), 3, side, side);
    for_each_place(made, [&](int n, int c, int y, int x) {
      const std::uint32_t sample = samples[std::size_t(n)];
      const auto augment = epoch ? kernels::draw_augment(of_.config.training.seed, *epoch, sample)
                                 : kernels::SampleAugment{};
      made.at(n, c, y, x) =
          double(kernels::input_value(set.image(sample).data(), transform, augment, c, y, x));
    });
    return made;
  }

  static std::vector<std::int32_t> labels(const ImageSet& set,
                                          const std::vector<std::uint32_t>& samples) {
    std::vector<std::int32_t> chosen;
    for (const std::uint32_t sample : samples) chosen.push_back(set.labels[sample]);
    return chosen;
  }

  const SoloTraining& of_;
  Vector parameters_;
  Vector running_;
  Vector velocities_;
};

Vector values_of(SoloTraining& training, std::span<float> on_device) {
  std::vector<float> host(on_device.size());
  training.backend->download(host, on_device);
  return Vector(host.begin(), host.end());
}

double worst_difference(const Vector& a, const Vector& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

/// 40 images in steps of 16, 16 and 8.
TrainConfig whole_run(std::size_t accumulate, std::uint64_t seed) {
  TrainConfig config;
  config.training.seed = seed;
  config.batch.accumulate = accumulate;
  config.batch.global = 16;
  config.model.image_size = 8;
  config.training.epochs = 2;
  config.optimizer.lr = 0.005;
  config.optimizer.scale_lr = ScaleLr::none;
  config.optimizer.momentum = 0.9;
  config.optimizer.nesterov = true;
  config.optimizer.weight_decay = 0.05;
  config.optimizer.warmup_epochs = 1;
  config.optimizer.lr_schedule = LrSchedule::cosine;
  config.data.augment = Augment::standard;
  config.data.normalize = Normalize::scale;
  return config;
}

/// The largest differences of a training from that in double precision: of a loss, relative; of a
/// parameter and a running statistic, absolute.
struct Difference {
  double loss = 0;
  double parameter = 0;
  double running = 0;

  void see_loss(double measured, double expected) {
    loss = std::max(loss, std::abs(measured / expected - 1));
  }
  bool is_rounding() const { return loss < 1e-5 && parameter < 1e-5 && running < 1e-4; }
};

/// `shares`: of the micro-batches, each of which stands for a rank; none: they are equal.
Difference from_float64(const TrainConfig& config, const std::vector<std::size_t>& shares = {}) {
  SoloTraining training(config, {.train = 40, .test = 24}, shares);
  Float64Training reference(training, values_of(training, training.replica.parameters()),
                            values_of(training, training.replica.running_statistics()));
  const RunRecord run = training.train();
  REQUIRE(run.epochs.size() == config.training.epochs);
  Difference found;
  Sampler sampler(training.plan.sampler);
  for (const EpochRecord& epoch : run.epochs) {
    const std::size_t number = epoch.epoch - 1;
    sampler.set_epoch(number);
    double loss = 0;
    for (std::size_t s = 0; s < 3; ++s) {
      std::vector<std::uint32_t> samples;
      std::vector<Range> parts;
      for (std::size_t part = 0; part < config.batch.accumulate; ++part) {
        const auto more = sampler.indices(s, part);
        parts.push_back({samples.size(), samples.size() + more.size()});
        if (!shares.empty()) REQUIRE(parts.back().size() == shares[part] / (s < 2 ? 1 : 2));
        samples.insert(samples.end(), more.begin(), more.end());
      }
      REQUIRE(samples.size() == (s < 2 ? 16U : 8U));
      const double expected = reference.step(number, s, samples, parts);
      found.see_loss(epoch.step_records[0][s].train_loss, expected);
      loss += expected * double(samples.size());
    }
    found.see_loss(epoch.train.loss, loss / 40);
    REQUIRE(epoch.test.has_value() == (config.training.eval_every > 0));
    if (epoch.test) found.see_loss(epoch.test->loss, reference.evaluate());
  }
  found.parameter =
      worst_difference(values_of(training, training.replica.parameters()), reference.parameters());
  found.running = worst_difference(values_of(training, training.replica.running_statistics()),
                                   reference.running());
  return found;
}

/// Of a few seeds one has no step near a point without a derivative, from which fp32 may part.
void check_some_seed(const std::function<Difference(std::uint64_t seed)>& difference) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    const Difference found = difference(seed);
    if (found.is_rounding()) return;
    UNSCOPED_INFO("seed " << seed << ": loss " << found.loss << ", parameter " << found.parameter
                          << ", running statistic " << found.running);
  }
  FAIL("no seed agrees");
}

}  // namespace

TEST_CASE("A whole training follows one in double precision", "[backend][trainer][float64]") {
  const std::size_t accumulate = GENERATE(1U, 3U);
  CAPTURE(accumulate);
  check_some_seed([=](std::uint64_t seed) { return from_float64(whole_run(accumulate, seed)); });
}

TEST_CASE("So does one whose parts of a batch are unequal", "[backend][trainer][float64]") {
  check_some_seed([](std::uint64_t seed) {
    TrainConfig config = whole_run(2, seed);
    config.training.eval_every = 0;
    return from_float64(config, {12, 4});
  });
}

TEST_CASE("So does one with smoothed labels, which evaluations do without",
          "[backend][trainer][float64]") {
  check_some_seed([](std::uint64_t seed) {
    TrainConfig config = whole_run(1, seed);
    config.training.label_smoothing = 0.25;
    return from_float64(config);
  });
}

TEST_CASE("So does one by LARS", "[backend][trainer][float64]") {
  check_some_seed([](std::uint64_t seed) {
    TrainConfig config = whole_run(3, seed);
    config.optimizer.optimizer = OptimizerChoice::lars;
    config.optimizer.lars_trust = 0.1;
    config.optimizer.lars_epsilon = 0.01;
    config.optimizer.lr = 0.02;
    return from_float64(config);
  });
}
