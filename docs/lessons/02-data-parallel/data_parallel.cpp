// Lesson 2: data-parallel SGD. P ranks compute what one rank computes with P micro-batches: the
// same parameters, bit for bit, if both add the gradients in the order of the ranks.
//
//   mpicxx -std=c++20 -O3 data_parallel.cpp -o data_parallel && mpirun -n 3 ./data_parallel

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include <mpi.h>

constexpr int kFeatures = 8, kSamples = 4096, kBatch = 96, kEpochs = 5;
constexpr float kRate = 0.5F;
using Parameters = std::array<float, kFeatures + 1>;  // logistic regression: weights and a bias

struct Sample {
  std::array<float, kFeatures> x;
  float label;
};

// The same on every rank. Real programs read their part of a file.
std::vector<Sample> draw_samples() {
  unsigned state = 1;
  const auto draw = [&] {
    return float((state = state * 1664525U + 1013904223U) >> 8) / float(1 << 24) - 0.5F;
  };
  std::vector<Sample> samples(kSamples);
  for (Sample& s : samples) {
    float score = 0.1F * draw();
    for (int i = 0; i < kFeatures; ++i) score += (s.x[std::size_t(i)] = draw()) * float(i - 3);
    s.label = score > 0 ? 1.0F : 0.0F;
  }
  return samples;
}

// Adds the gradient of the samples [begin, end) to `gradient`; returns the sum of their losses. The
// gradient is divided by the *global* batch: then the ranks only have to add.
double add_gradient(const std::vector<Sample>& samples, int begin, int end, const Parameters& p,
                    Parameters& gradient) {
  double loss = 0;
  for (int n = begin; n < end; ++n) {
    const Sample& s = samples[std::size_t(n)];
    float score = p[kFeatures];
    for (std::size_t i = 0; i < kFeatures; ++i) score += p[i] * s.x[i];
    const float error = 1 / (1 + std::exp(-score)) - s.label;
    for (std::size_t i = 0; i < kFeatures; ++i) gradient[i] += error * s.x[i] / kBatch;
    gradient[kFeatures] += error / kBatch;
    loss += std::log1p(std::exp(s.label > 0 ? -score : score));
  }
  return loss;
}

// Part `part` of a global batch that begins at `first`. Parts differ by one sample at most.
int part_begin(int first, int part, int parts) { return first + kBatch * part / parts; }

void step(Parameters& p, const Parameters& gradient) {
  for (std::size_t i = 0; i < p.size(); ++i) p[i] -= kRate * gradient[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<Sample> samples = draw_samples();

  Parameters replica{}, alone{};  // of the ranks together, and of one rank that does all the work
  std::vector<Parameters> all(std::size_t(ranks), Parameters{});
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    double loss = 0;
    for (int first = 0; first + kBatch <= kSamples; first += kBatch) {
      // Together: each rank computes its part, all get all gradients and add them by rank. A ring
      // would be faster; it adds each chunk in an order of its own.
      Parameters mine{};
      loss += add_gradient(samples, part_begin(first, rank, ranks),
                           part_begin(first, rank + 1, ranks), replica, mine);
      MPI_Allgather(mine.data(), int(mine.size()), MPI_FLOAT, all.data(), int(mine.size()),
                    MPI_FLOAT, MPI_COMM_WORLD);
      Parameters sum = all[0];
      for (std::size_t r = 1; r < all.size(); ++r)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += all[r][i];
      step(replica, sum);

      // Alone: the same parts as micro-batches, one after the other.
      Parameters whole{};
      for (int part = 0; part < ranks; ++part) {
        Parameters micro{};
        add_gradient(samples, part_begin(first, part, ranks), part_begin(first, part + 1, ranks),
                     alone, micro);
        for (std::size_t i = 0; i < whole.size(); ++i)
          whole[i] = part == 0 ? micro[i] : whole[i] + micro[i];
      }
      step(alone, whole);
    }
    MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
      std::printf("epoch %d loss %.6f\n", epoch + 1, loss / (kSamples / kBatch * kBatch));
  }

  int same = std::memcmp(replica.data(), alone.data(), sizeof replica) == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%s: %d ranks, and one rank with %d micro-batches\n",
                same ? "equal, bit for bit" : "DIFFERENT", ranks, ranks);
  MPI_Finalize();
  return same ? 0 : 1;
}
