// Lesson 1: a ring all-reduce of std::vector by MPI_Sendrecv.
//
//   mpicxx -std=c++20 -O3 ring.cpp -o ring && mpirun -n 4 ./ring 1000003

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>

// Afterwards each rank has the sum of all ranks' data. P. Patarasuk, X. Yuan: "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69 (2009).
// `received` takes a chunk; it keeps its memory from one call to the next.
void ring_all_reduce(std::vector<float>& data, std::vector<float>& received, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

  // P chunks; lengths differ by one at most, and are 0 where there are fewer elements than ranks.
  const auto begin = [&](int chunk) {
    return data.size() * std::size_t(chunk) / std::size_t(ranks);
  };
  const auto length = [&](int chunk) { return int(begin(chunk + 1) - begin(chunk)); };
  received.resize(data.size() / std::size_t(ranks) + 1);

  // Reduce-scatter: in each step a rank passes on the chunk that it added to in the step before.
  // After P-1 steps rank r has the whole sum of chunk r+1.
  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (rank - step + ranks) % ranks, in = (out + ranks - 1) % ranks;
    MPI_Sendrecv(data.data() + begin(out), length(out), MPI_FLOAT, next, 0, received.data(),
                 length(in), MPI_FLOAT, before, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < length(in); ++i)
      data[begin(in) + std::size_t(i)] += received[std::size_t(i)];
  }

  // All-gather: the finished chunks travel round once more.
  for (int step = 0; step < ranks - 1; ++step) {
    const int out = (rank + 1 - step + ranks) % ranks, in = (out + ranks - 1) % ranks;
    MPI_Sendrecv(data.data() + begin(out), length(out), MPI_FLOAT, next, 0, data.data() + begin(in),
                 length(in), MPI_FLOAT, before, 0, comm, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // Small whole numbers: their sums are exact in any order, so the ring has to equal MPI's own.
  std::vector<float> start(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000003);
  for (std::size_t i = 0; i < start.size(); ++i)
    start[i] = float((i * 7 + std::size_t(rank) * 13) % 101);
  std::vector<float> data, received, expected(start.size());
  MPI_Allreduce(start.data(), expected.data(), int(start.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);

  // Each time counts for the slowest rank. The first is warm-up: connections, fresh memory.
  std::vector<double> seconds(12);
  for (double& s : seconds) {
    data = start;
    MPI_Barrier(MPI_COMM_WORLD);
    s = -MPI_Wtime();
    ring_all_reduce(data, received, MPI_COMM_WORLD);
    s += MPI_Wtime();
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), int(seconds.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  std::sort(seconds.begin() + 1, seconds.end());
  const double minimum = seconds[1], median = seconds[seconds.size() / 2];

  // All ranks have to agree on what rank 0 says.
  int same = data == expected ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%s: %zu floats on %d ranks\n", same ? "equal" : "DIFFERENT", start.size(), ranks);
    std::printf("median %.3f ms, minimum %.3f ms\n", 1e3 * median, 1e3 * minimum);
    // Each rank sends 2 (P-1) / P of the data: that is what busbw counts. One rank sends nothing.
    const double sent = double(start.size() * sizeof(float)) * 2 * (ranks - 1) / ranks;
    if (sent > 0)
      std::printf("busbw %.3g GB/s\n", sent / median / 1e9);
    else
      std::printf("busbw not determined: nothing was sent\n");
  }
  MPI_Finalize();
  return same ? 0 : 1;
}
