#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/cuda/device_vector.hpp"
#include "tests/standin/kernel/shim.hpp"

// What kernels may do beyond loops: wait for each other, share memory, exchange values.

namespace {

using rueda::test::DeviceVector;

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

/// Every lane's sum over its half warp, and the value of the lane before it.
__global__ void exchange(int* sums, int* before) {
  const int mine = static_cast<int>(threadIdx.x * threadIdx.x);
  int sum = mine;
  for (int bit = 8; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, bit);
  sums[threadIdx.x] = sum;
  before[threadIdx.x] = __shfl_up_sync(0xffffffffU, mine, 1);
}

/// The first half warp exchanges among itself before all do.
__global__ void exchange_in_parts(int* sums) {
  int sum = static_cast<int>(threadIdx.x);
  if (threadIdx.x < 16) {
    for (int bit = 8; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffU, sum, bit);
  }
  sums[threadIdx.x] = sum + __shfl_xor_sync(0xffffffffU, sum, 16);
}

/// Threads that leave early are not waited for.
__global__ void leave_early(int* count) {
  if (threadIdx.x % 3 == 0) return;
  __syncthreads();
  atomicAdd(count, 1);
}

__global__ void where(int* places) {
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  places[i] = static_cast<int>(i);
}

template <typename... Parameters, typename... Arguments>
cudaError_t start(dim3 grid, dim3 block, cudaStream_t stream, void (*kernel)(Parameters...),
                  Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace

TEST_CASE("threads of a block wait for each other and share memory") {
  const auto stream = rueda::cuda::make_stream();
  std::vector<int> numbers(3 * 256);
  std::iota(numbers.begin(), numbers.end(), 0);
  const DeviceVector<int> values(numbers, stream.get());
  const DeviceVector<int> sums(std::vector<int>(3, -1), stream.get());
  CHECK(start(3, 256, stream.get(), block_sums, static_cast<const int*>(values.data()),
              sums.data()) == cudaSuccess);
  CHECK(sums.read() == std::vector<int>{32640, 32640 + 65536, 32640 + 131072});
}

TEST_CASE("lanes of a warp exchange values") {
  const auto stream = rueda::cuda::make_stream();
  const DeviceVector<int> sums(std::vector<int>(64), stream.get());
  const DeviceVector<int> before(std::vector<int>(64), stream.get());
  CHECK(start(1, 64, stream.get(), exchange, sums.data(), before.data()) == cudaSuccess);
  const auto found_sums = sums.read();
  const auto found_before = before.read();
  for (int i = 0; i < 64; ++i) {
    int expected = 0;
    for (int j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) expected += j * j;
    const int neighbour = i % 32 == 0 ? i : i - 1;
    CHECK(found_sums[static_cast<std::size_t>(i)] == expected);
    CHECK(found_before[static_cast<std::size_t>(i)] == neighbour * neighbour);
  }
}

TEST_CASE("part of a warp exchanges values while the rest waits") {
  const auto stream = rueda::cuda::make_stream();
  const DeviceVector<int> sums(std::vector<int>(32), stream.get());
  CHECK(start(1, 32, stream.get(), exchange_in_parts, sums.data()) == cudaSuccess);
  std::vector<int> expected;
  for (int i = 0; i < 32; ++i) expected.push_back(120 + i % 16 + 16);
  CHECK(sums.read() == expected);
}

TEST_CASE("threads that have ended are not waited for") {
  const auto stream = rueda::cuda::make_stream();
  const DeviceVector<int> count({0}, stream.get());
  CHECK(start(2, 90, stream.get(), leave_early, count.data()) == cudaSuccess);
  CHECK(count.read() == std::vector<int>{120});
}

TEST_CASE("every thread of every block runs once, in three dimensions") {
  const auto stream = rueda::cuda::make_stream();
  const dim3 grid(2, 3, 4);
  const dim3 block(5, 4, 3);
  std::vector<int> expected(24 * 60);
  const DeviceVector<int> places(expected, stream.get());
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(start(grid, block, stream.get(), where, places.data()) == cudaSuccess);
  CHECK(places.read() == expected);
}

TEST_CASE("a launch that no device could do is refused") {
  int* nothing = nullptr;
  CHECK(start(1, 1025, nullptr, leave_early, nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(0, 1, nullptr, leave_early, nothing) == cudaErrorInvalidConfiguration);
  CHECK(start(dim3(1, 65536), 1, nullptr, leave_early, nothing) == cudaErrorInvalidConfiguration);
  static_cast<void>(cudaGetLastError());
}
