// Lesson 7: a ring that survives: one rank is killed, and the others go on with the sums.
//
//   mpicxx -std=c++20 -O3 survive.cpp -o survive
//   mpirun --with-ft ulfm -n 4 ./survive 1000003 2 3

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#ifdef MPIX_ERR_PROC_FAILED

constexpr int kSteps = 5;

// The ring of lesson 1 with both rounds in one loop. At the first error it returns false, and
// `data` is worth nothing. A rank that `dies` kills itself after so many messages.
bool ring_all_reduce(std::vector<float>& data, MPI_Comm comm, bool dies, int messages) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const auto begin = [&](int chunk) {
    return data.size() * std::size_t(chunk) / std::size_t(ranks);
  };
  const auto length = [&](int chunk) { return int(begin(chunk + 1) - begin(chunk)); };
  std::vector<float> received(data.size() / std::size_t(ranks) + 1);

  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const bool adds = step < ranks - 1;
    if (dies && step == messages) std::raise(SIGKILL);
    const int out = (rank - step + 2 * ranks) % ranks, in = (out + ranks - 1) % ranks;
    float* place = adds ? received.data() : data.data() + begin(in);
    const int error = MPI_Sendrecv(data.data() + begin(out), length(out), MPI_FLOAT, next, 0, place,
                                   length(in), MPI_FLOAT, before, 0, comm, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return false;
    for (int i = 0; adds && i < length(in); ++i)
      data[begin(in) + std::size_t(i)] += received[std::size_t(i)];
  }
  return true;
}

// Whether every living rank has its sum. All of them get the same answer, so all go on alike.
// W. Bland, A. Bouteiller, T. Herault, G. Bosilca, J. Dongarra: "Post-failure recovery of MPI
// communication capability", Int. J. High Perform. Comput. Appl. 27 (2013).
bool all_have_it(bool mine, MPI_Comm comm) {
  // Only the neighbours of the dead rank see its death. Others would wait for these neighbours, who
  // have left the ring: revoke ends every call on the communicator, on all ranks.
  if (!mine) MPIX_Comm_revoke(comm);
  int all = mine ? 1 : 0;
  MPIX_Comm_agree(comm, &all);  // logical and; it and shrink work on a revoked communicator
  return all != 0;
}

// The living ranks, in their old order.
MPI_Comm without_the_dead(MPI_Comm comm) {
  MPI_Comm living = MPI_COMM_NULL;
  MPIX_Comm_shrink(comm, &living);
  MPI_Comm_set_errhandler(living, MPI_ERRORS_RETURN);
  MPI_Comm_free(&comm);
  return living;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // by default an error ends all ranks
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);                         // with this handler
  int me = 0, ranks = 1;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000003;
  const int victim = argc > 2 ? std::atoi(argv[2]) : -1;
  const int its_step = argc > 3 ? std::atoi(argv[3]) : 3;
  const int messages = argc > 4 ? std::atoi(argv[4]) : ranks - 1;  // half of them

  // Whole numbers, whose sums are exact: rank r has 2^r times a pattern. The last element is 2^r
  // alone, so its sum tells whose gradients are in.
  std::vector<float> gradient(size + 1, float(1 << me)), weights(size), sum;
  for (std::size_t i = 0; i < size; ++i) gradient[i] *= float(i % 7);
  int right = 1;

  for (int step = 1; step <= 5; ++step) {
    const double begin = MPI_Wtime();
    sum = gradient;
    int tries = 1;
    while (true) {
      const bool dies = me == victim && step == its_step;
      if (all_have_it(ring_all_reduce(sum, comm, dies, messages), comm)) break;
      comm = without_the_dead(comm);
      sum = gradient;  // the sum that failed has overwritten its own
      ++tries;
    }
    const double ms = 1e3 * (MPI_Wtime() - begin);
    for (std::size_t i = 0; i < size; ++i) {
      right &= sum[i] == sum[size] * float(i % 7) ? 1 : 0;
      weights[i] += sum[i];
    }
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank != 0) continue;
    std::printf("step %d: %.2f ms, try %d, gradients of ranks", step, ms, tries);
    for (int r = 0; r < ranks; ++r)
      if (int(sum[size]) >> r & 1) std::printf(" %d", r);
    std::printf("\n");
  }

  // Replicas are alike if the smallest and the largest total of the weights are equal.
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double lowest = 0, highest = 0;
  MPI_Allreduce(&total, &lowest, 1, MPI_DOUBLE, MPI_MIN, comm);
  MPI_Allreduce(&total, &highest, 1, MPI_DOUBLE, MPI_MAX, comm);
  right &= lowest == highest ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, comm);
  int rank = 0, left = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &left);
  if (rank == 0)
    std::printf("%s: whole sums, equal replicas on %d of %d ranks\n", right ? "right" : "WRONG",
                left, ranks);
  std::fflush(stdout);
  if (left < ranks) std::_Exit(right ? 0 : 1);  // MPI_Finalize may wait for the dead rank
  MPI_Finalize();
  return right ? 0 : 1;
}

#else

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    std::fprintf(stderr,
                 "survive: this MPI has no ULFM, so no rank outlives another: take the "
                 "mpicxx and mpirun of Open MPI 5\n");
  MPI_Finalize();
  return 2;
}

#endif
