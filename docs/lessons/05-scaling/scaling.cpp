// Lesson 5: measure, model, predict. Fits alpha and beta to messages, times a step, predicts the
// speedup, measures it, and says where the time goes (POP factors).
//
//   mpicxx -std=c++20 -O3 scaling.cpp -o scaling && mpirun -n 4 ./scaling

#include <algorithm>
#include <cstdio>
#include <vector>

#include <mpi.h>

constexpr std::size_t kFloats = 1 << 20;  // gradients: 4 MiB
constexpr int kImages = 64;               // global batch: the ranks share it (strong scaling)
constexpr int kSteps = 10;

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
  for (int i = 0; i < 40; ++i) {
    const double began = MPI_Wtime();
    MPI_Sendrecv(out.data(), int(floats), MPI_FLOAT, (rank + 1) % ranks, 0, in.data(), int(floats),
                 MPI_FLOAT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    seconds.push_back(MPI_Wtime() - began);
  }
  double result = median(seconds);
  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return result;
}

// Stands for forward and backward of so many images. Stays in the cache, so that ranks do not
// compete for memory.
void compute(int images, std::vector<float>& gradient) {
  for (int n = 0; n < 2000 * images; ++n)
    for (std::size_t i = 0; i < 4096; ++i) gradient[i] = 0.999F * gradient[i] + float(n);
}

void ring_all_reduce(std::vector<float>& data, MPI_Comm comm) {  // lesson 1
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto begin = [&](int chunk) {
    return data.size() * std::size_t(chunk) / std::size_t(ranks);
  };
  const auto length = [&](int chunk) { return int(begin(chunk + 1) - begin(chunk)); };
  static std::vector<float> received(data.size());
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

struct Measured {
  double step;        // seconds, of the slowest rank
  double mean, most;  // of the ranks' computing, seconds a step
};

// Each rank of `comm` computes its part of the images; then they sum.
Measured train(std::vector<float>& gradient, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int images = kImages * (rank + 1) / ranks - kImages * rank / ranks;
  std::vector<double> steps, computing;
  for (int step = 0; step <= kSteps; ++step) {
    MPI_Barrier(comm);
    const double began = MPI_Wtime();
    compute(images, gradient);
    const double computed = MPI_Wtime();
    ring_all_reduce(gradient, comm);
    if (step == 0) continue;  // warm-up
    steps.push_back(MPI_Wtime() - began);
    computing.push_back(computed - began);
  }
  double most[2] = {median(steps), median(computing)}, sum = most[1];
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  return {most[0], sum / ranks, most[1]};
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<float> gradient(kFloats);

  // Measure: one rank alone while the others wait; and messages. T(n) = alpha + n / beta.
  Measured one = rank == 0 ? train(gradient, MPI_COMM_SELF) : Measured{};
  MPI_Bcast(&one, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double alpha = 0, per_byte = 0;
  if (ranks > 1) {
    alpha = message_seconds(0, rank, ranks);
    const std::size_t chunk = kFloats / std::size_t(ranks);
    per_byte =
        std::max(0.0, message_seconds(chunk, rank, ranks) - alpha) / double(chunk * sizeof(float));
  }

  // Model: computing is shared; the ring's messages are added (lesson 1), its additions left out.
  const double bytes = kFloats * sizeof(float);
  const double sum = 2.0 * (ranks - 1) * (alpha + bytes / ranks * per_byte);
  const double predicted = one.most / ranks + sum;

  const Measured all = train(gradient, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("alpha %.2f us, beta %.2f GB/s\n", 1e6 * alpha,
                per_byte > 0 ? 1e-9 / per_byte : 0.0);
    std::printf("1 rank:   step %.2f ms\n", 1e3 * one.step);
    std::printf("%d ranks: step %.2f ms predicted, %.2f ms measured\n", ranks, 1e3 * predicted,
                1e3 * all.step);
    const double speedup = one.step / all.step;
    std::printf("speedup %.2f of %d predicted %.2f, efficiency %.0f %%\n", speedup, ranks,
                one.step / predicted, 100 * speedup / ranks);
    // POP: parallel efficiency = load balance x communication; the rest is computing that got
    // slower.
    std::printf("load balance %.3f x communication %.3f x computation %.3f = %.3f\n",
                all.mean / all.most, all.most / all.step, one.most / ranks / all.mean,
                one.most / ranks / all.step);
  }
  MPI_Finalize();
}
