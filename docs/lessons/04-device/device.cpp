// Lesson 4: the ring on device buffers: given to MPI as they are (CUDA-aware), or staged through
// host memory.
//
// With a GPU, or without one (then "device" memory is the host's):
//
//   nvcc -std=c++20 -O3 -x cu -ccbin mpicxx device.cpp -o device
//   mpicxx -std=c++20 -O3 device.cpp -o device
//
//   mpirun -n 2 ./device 11000000

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // Open MPI's: MPIX_Query_cuda_support
#endif

// What the program needs of a device: memory, copies, one kernel.
#ifdef __CUDACC__
void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "device: %s\n", cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// A GPU for each rank of a host, in turn.
void choose_device() {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int local_rank = 0, devices = 0;
  MPI_Comm_rank(host, &local_rank);
  MPI_Comm_free(&host);
  check(cudaGetDeviceCount(&devices));
  check(cudaSetDevice(local_rank % devices));
}

float* allocate(std::size_t floats) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(floats, 1) * sizeof(float)));
  return static_cast<float*>(memory);
}
// cudaMemcpy returns when the values are there. With cudaMemcpyAsync, synchronise before MPI reads
// them.
void copy(float* to, const float* from, std::size_t n) {
  check(cudaMemcpy(to, from, n * sizeof(float), cudaMemcpyDefault));
}

__global__ void add_kernel(float* to, const float* from, int n) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] += from[i];
}
void add(float* to, const float* from, int n) {
  if (n == 0) return;
  add_kernel<<<(n + 255) / 256, 256>>>(to, from, n);
  // MPI knows nothing of streams: it may only be called once the kernel is done.
  check(cudaDeviceSynchronize());
}
constexpr bool kHasGpu = true;
#else
void choose_device() {}
float* allocate(std::size_t floats) {
  return static_cast<float*>(std::calloc(std::max<std::size_t>(floats, 1), sizeof(float)));
}
void copy(float* to, const float* from, std::size_t n) { std::copy_n(from, n, to); }
void add(float* to, const float* from, int n) {
  for (int i = 0; i < n; ++i) to[i] += from[i];
}
constexpr bool kHasGpu = false;
#endif

// Whether MPI may be given a device's address. If it may not, it crashes in its own memcpy.
bool mpi_takes_device_buffers() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return !kHasGpu || MPIX_Query_cuda_support() == 1;
#else
  return !kHasGpu;
#endif
}

// What the ring needs besides its data, for the longest chunk. Memory is taken once: cudaMalloc
// would cost more than a step of the ring.
struct Scratch {
  float* received;  // on the device
  std::vector<float> host_out, host_in;

  explicit Scratch(std::size_t floats)
      : received(allocate(floats)), host_out(floats), host_in(floats) {}
};

// Lesson 1's ring. `staged`: what travels lies in host memory, copied from the device and to it.
void ring_all_reduce(float* data, std::size_t size, bool staged, Scratch& scratch) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto begin = [&](int chunk) { return size * std::size_t(chunk) / std::size_t(ranks); };
  const auto length = [&](int chunk) { return int(begin(chunk + 1) - begin(chunk)); };
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const int out = (rank - step + 2 * ranks) % ranks, in = (out + ranks - 1) % ranks;
    const bool adding = step < ranks - 1;
    const float* from = data + begin(out);
    float* to = adding ? scratch.received : data + begin(in);
    if (staged) copy(scratch.host_out.data(), from, std::size_t(length(out)));
    MPI_Sendrecv(staged ? scratch.host_out.data() : from, length(out), MPI_FLOAT,
                 (rank + 1) % ranks, 0, staged ? scratch.host_in.data() : to, length(in), MPI_FLOAT,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (staged) copy(to, scratch.host_in.data(), std::size_t(length(in)));
    if (adding) add(data + begin(in), scratch.received, length(in));
  }
}

// Seconds of each sum, of the slowest rank, in ascending order. The first is warm-up.
std::vector<double> sum_and_time(float* data, const std::vector<float>& start, bool staged,
                                 Scratch& scratch) {
  std::vector<double> seconds(10);
  for (double& s : seconds) {
    copy(data, start.data(), start.size());
    MPI_Barrier(MPI_COMM_WORLD);
    s = -MPI_Wtime();
    ring_all_reduce(data, start.size(), staged, scratch);
    s += MPI_Wtime();
  }
  seconds.erase(seconds.begin());
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), int(seconds.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  choose_device();
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 11000000;
  std::vector<float> start(size), result(size), expected(size);
  for (std::size_t i = 0; i < size; ++i) start[i] = float((i * 7 + std::size_t(rank) * 13) % 101);
  MPI_Allreduce(start.data(), expected.data(), int(size), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  float* data = allocate(size);

  if (rank == 0 && !kHasGpu) std::printf("built without CUDA: device memory is the host's\n");
  int right = 1;
  for (const bool staged : {false, true}) {
    if (!staged && !mpi_takes_device_buffers()) {
      if (rank == 0)
        std::printf("device buffers: not tried, this MPI does not say that it takes them\n");
      continue;
    }
    // Each path has its own, so that neither finds what the other has received.
    Scratch scratch(size / std::size_t(ranks) + 1);
    const std::vector<double> seconds = sum_and_time(data, start, staged, scratch);
    const double median = seconds[seconds.size() / 2];
    copy(result.data(), data, size);
    int same = result == expected ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    right = std::min(right, same);
    if (rank > 0) continue;
    std::printf("%s: %s, median %.3f ms, minimum %.3f ms, busbw ",
                staged ? "staged" : "device buffers", same ? "equal" : "DIFFERENT", 1e3 * median,
                1e3 * seconds.front());
    const double sent = double(size * sizeof(float)) * 2 * (ranks - 1) / ranks;
    if (sent > 0)
      std::printf("%.3g GB/s\n", sent / median / 1e9);
    else
      std::printf("not determined: nothing was sent\n");
  }
  MPI_Finalize();
  return right == 1 ? 0 : 1;
}
