// Lesson 8: the gradient noise scale: how many images a step is worth, from two norms that
// data-parallel ranks have almost for nothing.
//
//   mpicxx -std=c++20 -O3 noise.cpp -o noise
//   mpirun -n 2 ./noise

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

#include <mpi.h>

constexpr int kFeatures = 8, kHidden = 16, kSamples = 2048, kBatch = 256, kSteps = 256;
constexpr double kRate = 0.5;
// Each hidden unit has its weights, its bias and its weight in the score; the score's bias is last.
constexpr int kUnit = kFeatures + 2, kParameters = kHidden * kUnit + 1;
using Parameters = std::array<double, kParameters>;

struct Sample {
  std::array<double, kFeatures> x;
  double label;
};

// In [0, 1), the same on every rank, and so are samples, first weights and batches.
double draw() {
  static unsigned state = 1;
  return double((state = state * 1664525U + 1013904223U) >> 8) / (1 << 24);
}

// Chance has a part in the labels, so no network gets all of them right.
std::vector<Sample> draw_samples() {
  std::vector<Sample> samples(kSamples);
  for (Sample& s : samples) {
    double score = 3 * draw() - 1.5;
    for (int i = 0; i < kFeatures; ++i) score += (s.x[std::size_t(i)] = draw() - 0.5) * (i - 3);
    s.label = score > 0 ? 1 : 0;
  }
  return samples;
}

// Adds the gradient of a sample's loss, times `weight`, to `gradient`. Returns the loss.
double add_gradient(const Sample& s, const Parameters& p, double weight, Parameters& gradient) {
  std::array<double, kHidden> unit{};
  double score = p[kParameters - 1];
  for (int h = 0; h < kHidden; ++h) {
    const double* w = &p[std::size_t(h * kUnit)];
    unit[std::size_t(h)] = std::tanh(std::inner_product(s.x.begin(), s.x.end(), w, w[kFeatures]));
    score += w[kFeatures + 1] * unit[std::size_t(h)];
  }
  const double error = weight * (1 / (1 + std::exp(-score)) - s.label);
  for (int h = 0; h < kHidden; ++h) {
    const double u = unit[std::size_t(h)];
    const double back = error * p[std::size_t(h * kUnit + kFeatures + 1)] * (1 - u * u);
    double* g = &gradient[std::size_t(h * kUnit)];
    for (int i = 0; i < kFeatures; ++i) g[i] += back * s.x[std::size_t(i)];
    g[kFeatures] += back;
    g[kFeatures + 1] += error * u;
  }
  gradient[kParameters - 1] += error;
  return std::log1p(std::exp(s.label > 0 ? -score : score));
}

double squares(const double* v) { return std::inner_product(v, v + kParameters, v, 0.0); }

// Over steps: S, the variance of one sample's gradient, |G|^2 of the mean gradient, and the loss.
struct Sums {
  double variance = 0, gradient = 0, loss = 0;
  double noise_scale() const { return variance / gradient; }  // of sums, never a mean of ratios
};

// The definition, which would cost a pass over all samples in every step.
void add_truth(const std::vector<Sample>& samples, const Parameters& p, Sums& truth) {
  Parameters mean{};
  double each = 0;
  for (const Sample& s : samples) {
    Parameters one{};
    truth.loss += add_gradient(s, p, 1, one) / kSamples;
    each += squares(one.data());
    for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i] / kSamples;
  }
  truth.gradient += squares(mean.data());
  truth.variance += (each - kSamples * squares(mean.data())) / (kSamples - 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Sample> samples = draw_samples();
  Parameters p{};
  for (double& w : p) w = draw() - 0.5;

  Sums measured, truth;
  for (int step = 1, shown = 0; step <= kSteps; ++step) {
    // The batch: 256 of all samples, none twice. Each rank has a part, equal up to one sample.
    for (std::size_t i = 0; i < kBatch; ++i)
      std::swap(samples[i], samples[i + std::size_t(draw() * double(kSamples - i))]);
    const int begin = kBatch * rank / ranks, end = kBatch * (rank + 1) / ranks;
    Parameters mine{};
    for (int n = begin; n < end; ++n) add_gradient(samples[std::size_t(n)], p, 1.0 / kBatch, mine);
    add_truth(samples, p, truth);

    // One number travels behind the gradient: the square of the own part, before the sum.
    std::array<double, kParameters + 1> sum{};
    std::copy(mine.begin(), mine.end(), sum.begin());
    if (end > begin) sum[kParameters] = squares(mine.data()) / (end - begin);
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), int(sum.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    // Squares at two batch sizes: two equations for S and |G|^2.
    const double parts = kBatch * sum[kParameters], whole = squares(sum.data());
    const double variance = (parts - whole) * kBatch / (ranks - 1);
    measured.variance += variance;
    measured.gradient += whole - variance * (1.0 / kBatch - 1.0 / kSamples);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] -= kRate * sum[i];

    if (step != std::max(16, 4 * shown)) continue;
    const double scale = measured.noise_scale(), gain = (1 + scale / 128) / (1 + scale / 256);
    if (rank == 0 && ranks == 1) std::printf("not determined: one rank has no second batch size\n");
    if (rank == 0 && ranks > 1)
      std::printf("steps %d-%d: loss %.3f, noise scale %.0f, true %.0f, worth %.2f steps of 128\n",
                  shown + 1, step, truth.loss / (step - shown), scale, truth.noise_scale(), gain);
    shown = step;
    measured = truth = Sums{};
  }
  MPI_Finalize();
  return 0;
}
