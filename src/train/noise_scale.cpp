#include "train/noise_scale.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/split.hpp"

namespace rueda {
namespace {

constexpr std::size_t kNoiseBlocks = 20;

/// Student's t for a two-sided 90 % interval, by degrees of freedom from 1.
constexpr std::array<double, kNoiseBlocks - 1> kStudentT = {
    6.3138, 2.9200, 2.3534, 2.1318, 2.0150, 1.9432, 1.8946, 1.8595, 1.8331, 1.8125,
    1.7959, 1.7823, 1.7709, 1.7613, 1.7531, 1.7459, 1.7396, 1.7341, 1.7291};

/// What a step estimates, or a mean of it.
struct Pair {
  double variance = 0;
  double norm2 = 0;
};

Pair estimate(const StepNorms& step, double population) {
  const double variance = (step.part_norm2 - step.gradient_norm2) * step.images / (step.parts - 1);
  return {variance, step.gradient_norm2 - variance * (1 / step.images - 1 / population)};
}

/// Means over the steps, and the covariances of these means, times the square of Student's t.
struct Means {
  Pair mean;
  double variance2 = 0, both = 0, norm2 = 0;
};

Pair sum_of(std::span<const Pair> pairs) {
  Pair sum;
  for (const Pair& p : pairs) {
    sum.variance += p.variance;
    sum.norm2 += p.norm2;
  }
  return sum;
}

Means means_of(std::span<const Pair> steps) {
  const auto count = double(steps.size());
  const Pair sum = sum_of(steps);
  Means m{.mean = {sum.variance / count, sum.norm2 / count}};
  // All blocks have the same number of steps, or nearly.
  const std::size_t length = pieces(steps.size(), kNoiseBlocks);
  const std::size_t blocks = steps.size() / length;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::span<const Pair> block = cut(steps, even_split(steps.size(), blocks, i));
    const Pair of_block = sum_of(block);
    const double variance = of_block.variance - m.mean.variance * double(block.size());
    const double norm2 = of_block.norm2 - m.mean.norm2 * double(block.size());
    m.variance2 += variance * variance;
    m.both += variance * norm2;
    m.norm2 += norm2 * norm2;
  }
  const double t = kStudentT.at(blocks - 2);
  const double factor = t * t * double(blocks) / double(blocks - 1) / (count * count);
  for (double* covariance : {&m.variance2, &m.both, &m.norm2}) *covariance *= factor;
  return m;
}

/// The roots of the quadratic equation of Fieller's theorem; neither can be below 0.
void put_scale(GradientNoise& noise, const Means& m) {
  const double a = m.mean.norm2 * m.mean.norm2 - m.norm2;
  if (!(m.mean.norm2 > 0 && a > 0)) {
    noise.reason = NoNoiseScale::not_above_noise;
    return;
  }
  const double b = m.mean.variance * m.mean.norm2 - m.both;
  const double c = m.mean.variance * m.mean.variance - m.variance2;
  const double root = std::sqrt(std::max(0.0, b * b - a * c));
  noise.scale = std::max(0.0, m.mean.variance / m.mean.norm2);
  noise.low = std::max(0.0, (b - root) / a);
  noise.high = std::max(0.0, (b + root) / a);
}

}  // namespace

GradientNoise estimate_noise(std::span<const StepNorms> steps, std::size_t population,
                             std::size_t batch, std::size_t parts) {
  GradientNoise noise;
  noise.batch = batch;
  noise.parts = parts;
  std::vector<Pair> pairs;
  for (const StepNorms& step : steps)
    if (step.parts > 1) pairs.push_back(estimate(step, double(population)));
  noise.steps = pairs.size();
  if (noise.steps < kMinNoiseSteps)
    noise.reason = parts > 1 ? NoNoiseScale::few_steps : NoNoiseScale::one_part;
  if (pairs.empty()) return noise;
  const Pair sum = sum_of(pairs);
  noise.variance = sum.variance / double(pairs.size());
  noise.gradient_norm2 = sum.norm2 / double(pairs.size());
  if (!noise.reason) put_scale(noise, means_of(pairs));
  return noise;
}

std::optional<GradientNoise> noise_of(std::span<const StepRecord> steps, const RunPlan& plan) {
  std::vector<StepNorms> measured;
  for (const StepRecord& step : steps)
    if (step.norms.measured()) measured.push_back(step.norms);
  if (measured.empty()) return std::nullopt;
  std::size_t parts = 0;
  for (std::size_t part = 0; part < plan.sampler.parts; ++part)
    if (!plan.sampler.part_of(plan.global_batch, part).empty()) ++parts;
  return estimate_noise(measured, plan.sampler.samples, plan.global_batch, parts);
}

std::size_t noise_interval(const TrainConfig& config, std::string_view backend) {
  constexpr std::size_t kOnGpu = 8;
  if (backend == "timed") return 0;
  const std::size_t asked = config.checks.noise_scale;
  if (asked != kAutoNoiseScale) return asked;
  return backend == "cuda" ? kOnGpu : 1;
}

}  // namespace rueda
