#include "train/noise_scale.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/random.hpp"
#include "base/text.hpp"
#include "tests/support/values.hpp"

// Made gradients: a finite population of which mean and covariance are known.

namespace rueda::test {
namespace {

using Vector = std::vector<double>;

double norm2(const Vector& v) { return std::inner_product(v.begin(), v.end(), v.begin(), 0.0); }

/// The gradients of `count` images in 20 dimensions, whose variances differ.
struct Population {
  std::vector<Vector> images;
  double norm2 = 0;     ///< of the mean
  double variance = 0;  ///< trace of the covariance, divisor count - 1

  Population(std::size_t count, double mean, double deviation) {
    constexpr std::size_t kDimensions = 20;
    Vector sum(kDimensions);
    for (std::size_t i = 0; i < count; ++i) {
      Vector& image = images.emplace_back(kDimensions);
      for (std::size_t d = 0; d < kDimensions; ++d) {
        image[d] = mean + deviation * (0.5 + double(d % 4) / 3) *
                              nearly_normal(99, 0x6e6f6973, i * 32 + d);
        sum[d] += image[d] / double(count);
      }
    }
    norm2 = test::norm2(sum);
    for (const Vector& image : images)
      for (std::size_t d = 0; d < kDimensions; ++d)
        variance += (image[d] - sum[d]) * (image[d] - sum[d]) / double(count - 1);
  }
  double noise_scale() const { return variance / norm2; }
};

/// The images of a step, drawn without replacement.
std::vector<std::size_t> draw(std::size_t count, std::size_t population, std::uint64_t seed) {
  std::vector<std::size_t> all(population);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(all[i], all[i + random_bits(seed, 1, i, 0) % (population - i)]);
  all.resize(count);
  return all;
}

/// What a step measures whose parts have so many images.
StepNorms measure(const Population& population, const std::vector<std::size_t>& parts,
                  std::uint64_t seed) {
  const std::size_t images = std::accumulate(parts.begin(), parts.end(), std::size_t{0});
  const std::vector<std::size_t> drawn = draw(images, population.images.size(), seed);
  StepNorms step{.images = double(images), .parts = double(parts.size()), .part_norm2 = 0};
  Vector whole(population.images.front().size());
  auto at = drawn.begin();
  for (const std::size_t size : parts) {
    Vector mean(whole.size());
    for (std::size_t i = 0; i < size; ++i, ++at)
      for (std::size_t d = 0; d < mean.size(); ++d)
        mean[d] += population.images[*at][d] / double(size);
    const double weight = double(size) / double(images);
    for (std::size_t d = 0; d < mean.size(); ++d) whole[d] += weight * mean[d];
    step.part_norm2 += weight * norm2(mean);
  }
  step.gradient_norm2 = norm2(whole);
  return step;
}

GradientNoise measure_epoch(const Population& population, const std::vector<std::size_t>& parts,
                            std::size_t steps, std::uint64_t seed) {
  std::vector<StepNorms> measured;
  for (std::size_t t = 0; t < steps; ++t)
    measured.push_back(measure(population, parts, random_bits(seed, 2, t, 0)));
  const std::size_t batch = std::accumulate(parts.begin(), parts.end(), std::size_t{0});
  return estimate_noise(measured, population.images.size(), batch, parts.size());
}

struct Case {
  std::vector<std::size_t> parts;
  std::size_t steps;
};

StepNorms step_of(double variance, double norm2) {
  // Two parts of 8 images, of a population that has no end.
  const double gradient = norm2 + variance / 16;
  return {16, 2, gradient + variance / 16, gradient};
}

}  // namespace

TEST_CASE("noise scale: both sums are unbiased for parts of any size", "[noise]") {
  // Half of the population is in each step, so that the factor of a finite set matters.
  const Population population(120, 0.3, 1.2);
  for (const std::vector<std::size_t>& parts :
       {std::vector<std::size_t>{30, 30}, {1, 17, 42}, {59, 1}, {3, 5, 7, 11, 13, 21}}) {
    constexpr std::size_t kSteps = 4000;
    const GradientNoise noise = measure_epoch(population, parts, kSteps, 5);
    CAPTURE(parts, noise.variance, population.variance, noise.gradient_norm2, population.norm2);
    CHECK(noise.steps == kSteps);
    CHECK(std::abs(noise.variance / population.variance - 1) < 0.03);
    CHECK(std::abs(noise.gradient_norm2 / population.norm2 - 1) < 0.03);
  }
}

TEST_CASE("noise scale: 90 % intervals contain the truth in 85 to 95 of 100 runs", "[noise]") {
  const Population population(300, 0.35, 3);
  for (const Case& c : {Case{{30, 30}, 40},
                        {{5, 17, 1, 37}, 40},
                        {{15, 15, 15, 15}, 23},
                        {{20, 20, 20}, 300},
                        {{8, 8, 8, 8, 8, 8, 8, 4}, 60}}) {
    std::size_t covered = 0, determined = 0;
    constexpr std::size_t kSeeds = 500;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const GradientNoise noise = measure_epoch(population, c.parts, c.steps, seed);
      if (noise.reason) continue;
      ++determined;
      const double truth = population.noise_scale();
      covered += noise.low <= truth && truth <= noise.high ? 1 : 0;
    }
    CAPTURE(c.parts, c.steps, population.noise_scale(), determined, covered);
    CHECK(determined > kSeeds * 97 / 100);
    CHECK(covered >= determined * 85 / 100);
    CHECK(covered <= determined * 95 / 100);
  }
}

TEST_CASE("noise scale by hand", "[noise]") {
  // Sums of 30 / 3 where single ratios have another mean.
  std::vector<StepNorms> steps;
  for (int i = 0; i < 10; ++i) steps.push_back(i % 2 == 0 ? step_of(20, 3) : step_of(40, 3));
  const GradientNoise noise = estimate_noise(steps, 1'000'000'000'000, 16, 2);
  CHECK(noise.variance == Approx(30));
  CHECK(noise.gradient_norm2 == Approx(3));
  CHECK(noise.scale == Approx(10));
  CHECK(noise.steps == 10);
  CHECK(noise.batch == 16);
  CHECK(noise.parts == 2);
  CHECK(noise.learning_efficiency() == Approx(1 / 2.6));
  // The mean of ten values of 20 and 40: standard error sqrt(1000 / 9 / 10), t = 1.8331.
  const double half = 1.8331 * std::sqrt(1000.0 / 90) / 3;
  CHECK(noise.low == Approx(10 - half));
  CHECK(noise.high == Approx(10 + half));
  CHECK_FALSE(noise.reason);
}

TEST_CASE("noise scale: the last step has fewer images and parts", "[noise]") {
  std::vector<StepNorms> steps(9, step_of(30, 3));
  // 4 images in 2 parts: |g|^2 = 3 + 30/4, parts' 3 + 30/2.
  steps.push_back({4, 2, 18, 10.5});
  const GradientNoise noise = estimate_noise(steps, 1'000'000'000'000, 16, 2);
  CHECK(noise.scale == Approx(10));
  CHECK(noise.low == Approx(10));
  CHECK(noise.high == Approx(10));
  // One part says nothing of the noise.
  steps.back() = {2, 1, 18, 18};
  CHECK(estimate_noise(steps, 1'000'000'000'000, 16, 2).steps == 9);
}

TEST_CASE("noise scale: what cannot be known is not determined, with the reason", "[noise]") {
  const auto reason = [](const std::vector<StepNorms>& steps, std::size_t parts = 2) {
    const GradientNoise noise = estimate_noise(steps, 50'000, 16, parts);
    const bool known = std::isfinite(noise.scale);
    CHECK(known == !noise.reason.has_value());
    CHECK(std::isfinite(noise.low) == known);
    CHECK(std::isfinite(noise.high) == known);
    CHECK(std::isfinite(noise.learning_efficiency()) == known);
    return noise.reason ? std::string(to_string(*noise.reason)) : "";
  };
  CHECK(reason({}, 1) == "one part a step");
  CHECK(reason(std::vector<StepNorms>(20, {16, 1, 5, 5}), 1) == "one part a step");
  // Of steps of two parts only the last one was measured, which has one image.
  CHECK(reason({{1, 1, 5, 5}}) == "few steps");
  CHECK(reason(std::vector<StepNorms>(kMinNoiseSteps - 1, step_of(30, 3))) == "few steps");
  CHECK(reason(std::vector<StepNorms>(kMinNoiseSteps, step_of(30, 3))).empty());
  CHECK(reason(std::vector<StepNorms>(20, step_of(30, -1))) == "gradient not above noise");
  CHECK(reason(std::vector<StepNorms>(20, {16, 2, 0, 0})) == "gradient not above noise");
  // |G|^2 scatters from 0 to 2 and from 0.9 to 1.1.
  std::vector<StepNorms> wide, narrow;
  for (int i = 0; i < 6; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    wide.push_back(step_of(30, 1 + 2 * sign));
    narrow.push_back(step_of(30, 1 + 0.1 * sign));
  }
  CHECK(reason(wide) == "gradient not above noise");
  CHECK(reason(narrow).empty());
}

TEST_CASE("noise scale: images that are alike have none, and none is below 0", "[noise]") {
  std::vector<StepNorms> steps(10, step_of(0, 3));
  GradientNoise noise = estimate_noise(steps, 50'000, 16, 2);
  CHECK(noise.scale == 0);
  CHECK(noise.low == 0);
  CHECK(noise.high == 0);
  CHECK(noise.learning_efficiency() == 0);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = step_of(i % 2 == 0 ? -9 : 8, 3);
  noise = estimate_noise(steps, 50'000, 16, 2);
  CHECK(noise.variance < 0);
  CHECK(noise.scale == 0);
  CHECK(noise.low == 0);
  CHECK(noise.high > 0);
}

}  // namespace rueda::test
