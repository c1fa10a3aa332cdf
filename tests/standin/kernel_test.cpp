#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/cuda/device_vector.hpp"
#include "tests/standin/kernel/shim.hpp"

// What kernels may do beyond loops: wait for each other, share memory, exchange values.

namespace {

using rueda::test::DeviceVector;
using Numbers = std::vector<int>;

/// The sum of each block's 256 values, by halves.
__global__ void block_sums(const int* values, int* sums) {
  __shared__ int parts[256];
  parts[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

/// Every lane's sum over its half warp, and the value of the lane after it.
__global__ void exchange(int* sums, int* next) {
  const int mine = static_cast<int>(threadIdx.x * threadIdx.x);
  int sum = mine;
  for (int bit = 8; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, bit);
  sums[threadIdx.x] = sum;
  next[threadIdx.x] = __shfl_down_sync(0xffffffffU, mine, 1);
}

/// The first half warp exchanges among itself before all do.
__global__ void exchange_in_parts(int* sums) {
  int sum = static_cast<int>(threadIdx.x);
  if (threadIdx.x < 16) {
    for (int bit = 8; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffU, sum, bit);
  }
  sums[threadIdx.x] = sum + __shfl_xor_sync(0xffffffffU, sum, 16);
}

/// Threads that leave early are not waited for; every other one is counted at its place.
__global__ void count_at(int* counts) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  if (i % 3 == 0) return;
  __syncthreads();
  atomicAdd(counts + i, 1);
}

struct Launcher {
  template <typename... Parameters, typename... Arguments>
  cudaError_t operator()(dim3 grid, dim3 block, void (*kernel)(Parameters...),
                         Arguments... arguments) const {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream.get();
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }
  rueda::cuda::Stream stream = rueda::cuda::make_stream();
};

}  // namespace

TEST_CASE("threads of a block wait for each other and share memory") {
  const Launcher start;
  Numbers numbers(3 * 256);
  std::iota(numbers.begin(), numbers.end(), 0);
  const DeviceVector<int> values(numbers, start.stream.get());
  const DeviceVector<int> sums(Numbers(3, -1), start.stream.get());
  CHECK(start(3, 256, block_sums, static_cast<const int*>(values.data()), sums.data()) ==
        cudaSuccess);
  CHECK(sums.read() == Numbers{32640, 32640 + 65536, 32640 + 131072});
}

TEST_CASE("lanes of a warp exchange values, also in parts") {
  const Launcher start;
  const DeviceVector<int> sums(Numbers(64), start.stream.get());
  const DeviceVector<int> next(Numbers(64), start.stream.get());
  CHECK(start(1, 64, exchange, sums.data(), next.data()) == cudaSuccess);
  Numbers expected_sums, expected_next;
  for (int i = 0; i < 64; ++i) {
    expected_sums.push_back(0);
    for (int j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) expected_sums.back() += j * j;
    const int neighbour = i % 32 == 31 ? i : i + 1;
    expected_next.push_back(neighbour * neighbour);
  }
  CHECK(sums.read() == expected_sums);
  CHECK(next.read() == expected_next);

  const DeviceVector<int> of_parts(Numbers(32), start.stream.get());
  CHECK(start(1, 32, exchange_in_parts, of_parts.data()) == cudaSuccess);
  Numbers expected;
  for (int i = 0; i < 32; ++i) expected.push_back(120 + i % 16 + 16);
  CHECK(of_parts.read() == expected);
}

TEST_CASE("every thread of every block runs once, in three dimensions") {
  const Launcher start;
  Numbers expected(24 * 60, 1);
  for (std::size_t i = 0; i < expected.size(); i += 3) expected[i] = 0;
  const DeviceVector<int> counts(Numbers(expected.size()), start.stream.get());
  CHECK(start(dim3(2, 3, 4), dim3(5, 4, 3), count_at, counts.data()) == cudaSuccess);
  CHECK(counts.read() == expected);
}

TEST_CASE("a launch that no device could do is refused") {
  const Launcher start;
  int* nothing = nullptr;
  CHECK(start(1, 1025, count_at, nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(0, 1, count_at, nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(dim3(1, 65536), 1, count_at, nothing) == cudaErrorInvalidConfiguration);
  static_cast<void>(cudaGetLastError());
}
