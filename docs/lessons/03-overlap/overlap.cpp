// Lesson 3: overlap. Backward yields the gradients of the last layer first. A second thread sums
// what is there, a bucket at a time, while backward goes on.
//
//   mpicxx -std=c++20 -O3 -pthread overlap.cpp -o overlap && mpirun -n 2 ./overlap 8

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <mpi.h>

constexpr std::size_t kLayers = 32, kLayerFloats = 1 << 18;  // 1 MiB of gradients each
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Stands for the backward pass of a layer: time in which this core computes, and a gradient.
void backward(std::vector<float>& gradients, std::size_t layer, int rank) {
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < kLayerFloats; ++i)
    gradients[layer * kLayerFloats + i] = float(layer + i % 7) + float(rank);
  while (seconds_since(begin) < 2e-3) {
  }
}

// Sums layers that are announced to it. Layers come in descending order, so that those of a bucket
// lie side by side and one call sums them.
class Summer {
 public:
  Summer(std::vector<float>& gradients, std::size_t layers_per_bucket)
      : gradients_(gradients), per_bucket_(layers_per_bucket), thread_([this] { run(); }) {}

  void announce(std::size_t layer) {  // that layer's gradient, and all above it, are there
    const std::lock_guard lock(mutex_);
    ready_from_ = layer;
    changed_.notify_one();
  }

  void finish() { thread_.join(); }

 private:
  void run() {
    for (std::size_t end = kLayers; end > 0;) {
      const std::size_t begin = end > per_bucket_ ? end - per_bucket_ : 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ready_from_ <= begin; });
      }
      // All ranks sum the same buckets in the same order: a collective call has no name by which
      // MPI could tell one from another.
      MPI_Allreduce(MPI_IN_PLACE, gradients_.data() + begin * kLayerFloats,
                    int((end - begin) * kLayerFloats), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      end = begin;
    }
  }

  std::vector<float>& gradients_;
  std::size_t per_bucket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ready_from_ = kLayers;
  std::thread thread_;  // last: it uses the members above
};

struct Step {
  double seconds;
  double exposed;  // between the end of backward and the end of the sum
};

Step train_step(std::vector<float>& gradients, std::size_t layers_per_bucket, int rank) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  Summer summer(gradients, layers_per_bucket);
  for (std::size_t layer = kLayers; layer-- > 0;) {
    backward(gradients, layer, rank);
    summer.announce(layer);
  }
  const double computed = seconds_since(begin);
  summer.finish();
  const double all = seconds_since(begin);
  Step slowest{all, all - computed};
  MPI_Allreduce(MPI_IN_PLACE, &slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

int main(int argc, char** argv) {
  // Only the second thread calls MPI while it lives; MPI has to know that it is not the first.
  int provided = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided < MPI_THREAD_SERIALIZED) MPI_Abort(MPI_COMM_WORLD, 1);

  const std::size_t per_bucket = argc > 1 ? std::size_t(std::max(1, std::atoi(argv[1]))) : 8;
  std::vector<float> gradients(kLayers * kLayerFloats);
  train_step(gradients, kLayers, rank);  // warm-up
  const Step together = train_step(gradients, kLayers, rank);
  const std::vector<float> expected = gradients;
  const Step overlapped = train_step(gradients, per_bucket, rank);

  int same = gradients == expected ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("one bucket:           step %.1f ms, exposed %.1f ms\n", 1e3 * together.seconds,
                1e3 * together.exposed);
    std::printf("buckets of %2zu layers: step %.1f ms, exposed %.1f ms\n", per_bucket,
                1e3 * overlapped.seconds, 1e3 * overlapped.exposed);
    std::printf("%s: the sums of both, on %d ranks\n", same ? "equal" : "DIFFERENT", ranks);
  }
  MPI_Finalize();
  return same ? 0 : 1;
}
