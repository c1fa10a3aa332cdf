// Lesson 5: measure, model, predict. Times messages (alpha and beta) and a step of one rank,
// predicts the step of P ranks, measures it, and says where the time goes (POP factors).
//
//   mpicxx -std=c++20 -O3 scaling.cpp -o scaling && mpirun -n 2 ./scaling

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include <mpi.h>

constexpr std::size_t kFloats = 1 << 20;  // gradients: 4 MiB
constexpr int kImages = 64;               // global batch: the ranks share it (strong scaling)
constexpr int kRounds = 5, kSteps = 3;    // in a round: steps of one rank, then of all
constexpr int kMessages = 40, kWarmUp = 8;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// A message to the next rank and one from the rank before, in seconds: what a step of the ring
// does. The median, because a rare pause is not the link's.
double message_seconds(std::size_t floats, int rank, int ranks) {
  std::vector<float> out(std::max<std::size_t>(floats, 1)), in(out.size());
  std::vector<double> seconds;
  for (int i = 0; i < kWarmUp + kMessages; ++i) {
    const double began = MPI_Wtime();
    MPI_Sendrecv(out.data(), int(floats), MPI_FLOAT, (rank + 1) % ranks, 0, in.data(), int(floats),
                 MPI_FLOAT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i >= kWarmUp) seconds.push_back(MPI_Wtime() - began);
  }
  double result = median(seconds);
  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return result;
}

// A barrier in which ranks sleep. In MPI_Barrier they would spin, and take cores, caches and power
// from the rank that is timed alone.
void wait_asleep() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// Stands for forward and backward of so many images. Stays in the cache, so that ranks do not
// compete for memory.
void compute(int images, std::vector<float>& gradient) {
  for (int n = 0; n < 2000 * images; ++n)
    for (std::size_t i = 0; i < 4096; ++i) gradient[i] = 0.999F * gradient[i] + float(n);
}

// Lesson 1's ring. `received` has room for the longest chunk.
void ring_all_reduce(std::vector<float>& data, std::vector<float>& received, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto begin = [&](int chunk) {
    return data.size() * std::size_t(chunk) / std::size_t(ranks);
  };
  const auto length = [&](int chunk) { return int(begin(chunk + 1) - begin(chunk)); };
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const int out = (rank - step + 2 * ranks) % ranks, in = (out + ranks - 1) % ranks;
    float* to = step < ranks - 1 ? received.data() : data.data() + begin(in);
    MPI_Sendrecv(data.data() + begin(out), length(out), MPI_FLOAT, (rank + 1) % ranks, 0, to,
                 length(in), MPI_FLOAT, (rank + ranks - 1) % ranks, 0, comm, MPI_STATUS_IGNORE);
    if (step < ranks - 1)
      for (int i = 0; i < length(in); ++i)
        data[begin(in) + std::size_t(i)] += received[std::size_t(i)];
  }
}

// Seconds of the steps of this rank, whole and computing alone.
struct Steps {
  std::vector<double> whole, computing;
};

// Each rank of `comm` computes its part of the images; then they sum.
void train(std::vector<float>& gradient, MPI_Comm comm, Steps& steps) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int images = kImages * (rank + 1) / ranks - kImages * rank / ranks;
  std::vector<float> received(gradient.size() / std::size_t(ranks) + 1);
  for (int step = 0; step <= kSteps; ++step) {
    MPI_Barrier(comm);
    const double began = MPI_Wtime();
    compute(images, gradient);
    const double computed = MPI_Wtime();
    ring_all_reduce(gradient, received, comm);
    if (step == 0) continue;  // warm-up
    steps.whole.push_back(MPI_Wtime() - began);
    steps.computing.push_back(computed - began);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // Measure. One rank and all take turns, so that a machine that slows down does so for both.
  std::vector<float> gradient(kFloats);
  Steps alone, together;
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 0) train(gradient, MPI_COMM_SELF, alone);
    wait_asleep();
    train(gradient, MPI_COMM_WORLD, together);
  }
  const std::size_t chunk = kFloats / std::size_t(ranks);
  const double alpha = message_seconds(0, rank, ranks);
  const double beta =
      std::max(0.0, message_seconds(chunk, rank, ranks) - alpha) / double(chunk * sizeof(float));

  // The slowest rank's step and computing, and the mean computing.
  double slowest[2] = {median(together.whole), median(together.computing)}, mean = slowest[1];
  MPI_Allreduce(MPI_IN_PLACE, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  mean /= ranks;
  if (rank == 0) {
    const double one = median(alone.whole), step = slowest[0];
    std::printf("1 rank: step %.2f ms\n", 1e3 * one);
    if (ranks == 1) {
      std::printf("alpha, beta, speedup and factors: not determined, one rank sends nothing\n");
    } else {
      // Model: computing is shared; the ring's messages are added (lesson 1), its additions left
      // out.
      const double sum = 2.0 * (ranks - 1) * (alpha + kFloats * sizeof(float) / ranks * beta);
      const double predicted = one / ranks + sum;
      std::printf("alpha %.2f us, beta %.3f ns/byte\n", 1e6 * alpha, 1e9 * beta);
      std::printf("%d ranks: step %.2f ms predicted, %.2f ms measured\n", ranks, 1e3 * predicted,
                  1e3 * step);
      std::printf("speedup %.2f predicted, %.2f measured, efficiency %.3f\n", one / predicted,
                  one / step, one / step / ranks);
      // POP: load balance x communication is the parallel efficiency; the rest is computing that
      // got slower.
      std::printf("load balance %.3f x communication %.3f x computation %.3f = %.3f\n",
                  mean / slowest[1], slowest[1] / step, one / ranks / mean, one / step / ranks);
    }
  }
  MPI_Finalize();
}
