// Lesson 3: overlap. Backward yields the gradients of the last layer first. A second thread sums
// what is there by lesson 1's ring, a bucket at a time, while backward goes on.
//
//   mpicxx -std=c++20 -O3 -pthread overlap.cpp -o overlap
//   mpirun -n 2 --bind-to none ./overlap 8 device

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>
#include <time.h>

constexpr std::size_t kLayers = 32, kLayerFloats = 1 << 18;  // 1 MiB of gradients each
constexpr double kLayerSeconds = 2e-3;                       // of backward
constexpr int kSteps = 8;                                    // the first is warm-up

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Stands for the backward pass of a layer: it takes time, and a gradient is there. On the host it
// is time of a core, which does not pass while the thread waits for one. On a device the core is
// free.
void backward(std::vector<float>& gradients, std::size_t layer, int rank, bool on_device) {
  const clockid_t clock = on_device ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  const double end = seconds(clock) + kLayerSeconds;
  for (std::size_t i = 0; i < kLayerFloats; ++i)
    gradients[layer * kLayerFloats + i] = float(layer + i % 7) + float(rank);
  while (seconds(clock) < end)
    if (on_device) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

// Lesson 1's ring, for a part of a vector. `received` keeps its memory from one call to the next.
void ring_all_reduce(float* data, std::size_t size, std::vector<float>& received, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto begin = [&](int chunk) { return size * std::size_t(chunk) / std::size_t(ranks); };
  const auto length = [&](int chunk) { return int(begin(chunk + 1) - begin(chunk)); };
  received.resize(std::max(received.size(), size / std::size_t(ranks) + 1));
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const int out = (rank - step + 2 * ranks) % ranks, in = (out + ranks - 1) % ranks;
    const bool adding = step < ranks - 1;
    float* to = adding ? received.data() : data + begin(in);
    MPI_Sendrecv(data + begin(out), length(out), MPI_FLOAT, (rank + 1) % ranks, 0, to, length(in),
                 MPI_FLOAT, (rank + ranks - 1) % ranks, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; adding && i < length(in); ++i)
      data[begin(in) + std::size_t(i)] += received[std::size_t(i)];
  }
}

// Sums layers that are announced to it. Layers come in descending order, so that those of a bucket
// lie side by side and one ring sums them.
class Summer {
 public:
  Summer(std::vector<float>& gradients, std::vector<float>& received, std::size_t layers_per_bucket)
      : gradients_(gradients),
        received_(received),
        per_bucket_(layers_per_bucket),
        thread_([this] { run(); }) {}

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
      // All ranks sum the same buckets in the same order: a message has no name by which a rank
      // could tell one bucket's from another's.
      ring_all_reduce(gradients_.data() + begin * kLayerFloats, (end - begin) * kLayerFloats,
                      received_, MPI_COMM_WORLD);
      end = begin;
    }
  }

  std::vector<float>&gradients_, &received_;
  std::size_t per_bucket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ready_from_ = kLayers;
  std::thread thread_;  // last: it uses the members above
};

struct Times {
  double step, minimum;  // seconds; the median, and the shortest
  double exposed;        // between the end of backward and the end of the sum
};

Times train(std::vector<float>& gradients, std::size_t per_bucket, int rank, bool on_device) {
  std::vector<float> received;
  std::vector<double> step(kSteps), exposed(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = seconds(CLOCK_MONOTONIC);
    Summer summer(gradients, received, per_bucket);
    for (std::size_t layer = kLayers; layer-- > 0;) {
      backward(gradients, layer, rank, on_device);
      summer.announce(layer);
    }
    const double computed = seconds(CLOCK_MONOTONIC);
    summer.finish();
    step[std::size_t(i)] = seconds(CLOCK_MONOTONIC) - begin;
    exposed[std::size_t(i)] = seconds(CLOCK_MONOTONIC) - computed;
  }
  for (std::vector<double>* times : {&step, &exposed}) {  // each step is as long as on the slowest
    MPI_Allreduce(MPI_IN_PLACE, times->data(), kSteps, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    std::sort(times->begin() + 1, times->end());
  }
  return {step[kSteps / 2], step[1], exposed[kSteps / 2]};
}

int main(int argc, char** argv) {
  // Only the second thread calls MPI while it lives; MPI has to know that it is not the first.
  int provided = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (provided < MPI_THREAD_SERIALIZED) MPI_Abort(MPI_COMM_WORLD, 1);

  const std::size_t layers = argc > 1 ? std::size_t(std::max(1, std::atoi(argv[1]))) : 8;
  const bool on_device = argc > 2 && std::string(argv[2]) == "device";
  if (rank == 0)
    std::printf("ranks: %d, backward on the %s\n", ranks, on_device ? "device" : "host");
  int right = 1;
  std::vector<float> gradients(kLayers * kLayerFloats);
  for (const std::size_t per_bucket : {kLayers, layers}) {
    const Times times = train(gradients, per_bucket, rank, on_device);
    if (rank == 0)
      std::printf("buckets of %2zu layers: step %.1f ms, minimum %.1f ms, exposed %.1f ms\n",
                  per_bucket, 1e3 * times.step, 1e3 * times.minimum, 1e3 * times.exposed);
    for (std::size_t i = 0; i < gradients.size(); ++i)  // whole numbers: exact in any order
      if (gradients[i] !=
          float(ranks) * (float(i / kLayerFloats + i % kLayerFloats % 7) + float(ranks - 1) / 2))
        right = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%s: both sums\n", right == 1 ? "right" : "WRONG");
  MPI_Finalize();
  return right == 1 ? 0 : 1;
}
