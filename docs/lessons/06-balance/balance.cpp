// Lesson 6: ranks that are not equally fast. Measures what a sample takes on each rank, gives each
// as many samples as it computes in the same time, and shows that the gradient stays that of one
// rank, if the sum is divided by the samples of all.
//
//   mpicxx -std=c++20 -O3 balance.cpp -o balance
//   mpirun -n 2 ./balance
//   mpirun -n 2 ./balance 24 72

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <mpi.h>

constexpr int kFeatures = 8, kBatch = 96, kSlow = 3, kTrial = 48, kTimes = 7;
using Gradient = std::array<double, kFeatures>;  // of logistic regression whose weights are all 0
using Shares = std::vector<int>;                 // samples of each rank

struct Sample {
  Gradient x;
  double label;
};

// The same on every rank, as in lesson 2.
std::vector<Sample> draw_samples() {
  unsigned state = 1;
  const auto draw = [&] {
    return double((state = state * 1664525U + 1013904223U) >> 8) / double(1 << 24) - 0.5;
  };
  std::vector<Sample> samples(kBatch);
  for (Sample& s : samples) {
    double score = 0.1 * draw();
    for (int i = 0; i < kFeatures; ++i) score += (s.x[std::size_t(i)] = draw()) * (i - 3);
    s.label = score > 0 ? 1 : 0;
  }
  return samples;
}

// Stands for the layers of a network, which take their time for each sample.
void compute_layers(int times) {
  static std::vector<float> activations(4096);
  for (int n = 0; n < 600 * times; ++n)
    for (float& a : activations) a = 0.999F * a + float(n);
}

// Rank 0 is the slow one: it does the work of a sample several times.
int times_of(int rank) { return rank == 0 ? kSlow : 1; }

// The sum over the samples [begin, end), divided by nothing.
Gradient gradient_sum(const std::vector<Sample>& samples, int begin, int end, int times) {
  Gradient sum{};
  for (int n = begin; n < end; ++n) {
    const Sample& s = samples[std::size_t(n)];
    const double error = 0.5 - s.label;  // of the sigmoid of 0
    for (std::size_t i = 0; i < kFeatures; ++i) sum[i] += error * s.x[i];
    compute_layers(times);
  }
  return sum;
}

// Of `work`: the median, because a rare pause is not the rank's speed. The first time warms up.
template <typename Work>
double median_seconds(const Work& work) {
  std::array<double, kTimes> seconds{};
  for (int i = -1; i < kTimes; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);  // all ranks at once, as in a step
    const double began = MPI_Wtime();
    work();
    if (i >= 0) seconds[std::size_t(i)] = MPI_Wtime() - began;
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kTimes / 2];
}

// Every rank has one sample. Each further one goes to the rank that would be ready first with it.
Shares by_speed(const std::vector<double>& sample_seconds) {
  Shares shares(sample_seconds.size(), 1);
  for (int left = kBatch - int(shares.size()); left > 0; --left) {
    std::size_t first = 0;
    for (std::size_t r = 0; r < shares.size(); ++r)
      if ((shares[r] + 1) * sample_seconds[r] < (shares[first] + 1) * sample_seconds[first])
        first = r;
    ++shares[first];
  }
  return shares;
}

// One line about such shares. Returns whether the sum / kBatch is the gradient of one rank.
bool show(const char* name, const Shares& shares, const std::vector<Sample>& samples, int rank) {
  const int mine = shares[std::size_t(rank)];
  const int begin = std::accumulate(shares.begin(), shares.begin() + rank, 0);
  Gradient sum{}, means{};
  double step = median_seconds([&] {
    sum = gradient_sum(samples, begin, begin + mine, times_of(rank));
    for (std::size_t i = 0; i < kFeatures; ++i) means[i] = sum[i] / mine;
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), kFeatures, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  });
  MPI_Allreduce(MPI_IN_PLACE, &step, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, means.data(), kFeatures, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const Gradient one = gradient_sum(samples, 0, kBatch, 0);
  bool right = true;
  for (std::size_t i = 0; i < kFeatures; ++i)
    right = right && std::abs(sum[i] - one[i]) / kBatch < 1e-12;
  if (rank > 0) return right;
  std::printf("%s", name);
  for (const int share : shares) std::printf(" %d", share);
  std::printf(": step %.2f ms, sum / %d %.6f, mean of means %.6f\n", 1e3 * step, kBatch,
              sum[0] / kBatch, means[0] / double(shares.size()));
  return right;
}

// What a sample takes on each rank, measured on all at once. Rank 0 prints it.
std::vector<double> sample_seconds(const std::vector<Sample>& samples, int rank, int ranks) {
  const double mine =
      median_seconds([&] { gradient_sum(samples, 0, kTrial, times_of(rank)); }) / kTrial;
  std::vector<double> all(std::size_t(ranks), 0.0);
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
  if (rank > 0) return all;
  double speed = 0;  // samples a second, of all ranks
  std::printf("a sample takes");
  for (const double seconds : all) {
    std::printf(" %.3f", 1e3 * seconds);
    speed += 1 / seconds;
  }
  std::printf(" ms: ideal step %.2f ms\n", 1e3 * kBatch / speed);
  std::printf("one rank: gradient %.6f\n", gradient_sum(samples, 0, kBatch, 0)[0] / kBatch);
  return all;
}

// The numbers of the command line; none if there are none. Ends the program if they do not fit.
Shares given_shares(int argc, char** argv, int rank, int ranks) {
  Shares shares;
  for (int i = 1; i < argc; ++i) shares.push_back(std::atoi(argv[i]));
  if (shares.empty()) return shares;
  if (int(shares.size()) == ranks && *std::min_element(shares.begin(), shares.end()) > 0 &&
      std::accumulate(shares.begin(), shares.end(), 0) == kBatch)
    return shares;
  if (rank == 0)  // all see the same command line, so all end here
    std::fprintf(stderr, "balance: give a number above 0 for each rank, %d together\n", kBatch);
  MPI_Finalize();
  std::exit(2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Shares given = given_shares(argc, argv, rank, ranks);
  const std::vector<Sample> samples = draw_samples();
  const std::vector<double> seconds = sample_seconds(samples, rank, ranks);
  Shares equal;
  for (int r = 0; r < ranks; ++r) equal.push_back(kBatch * (r + 1) / ranks - kBatch * r / ranks);
  bool right = show("equal", equal, samples, rank);
  if (given.empty())
    right = show("by speed", by_speed(seconds), samples, rank) && right;
  else
    right = show("by hand", given, samples, rank) && right;
  if (rank == 0)
    std::printf("%s: the sum / %d is the gradient of one rank\n", right ? "right" : "WRONG",
                kBatch);
  MPI_Finalize();
  return right ? 0 : 1;
}
