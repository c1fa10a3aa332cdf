#include <set>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "cuda/device/device_query.hpp"
#include "cuda/device/handles.hpp"

// Run with three devices of which two are visible (meson.build).

TEST_CASE("visible devices are numbered anew and keep their UUIDs", "[.][two-devices]") {
  const auto found = rueda::cuda_devices().devices;
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "stand-in (host memory, no GPU)");
  CHECK(found[0].uuid.back() == '2');
  CHECK(found[1].uuid.back() == '0');
  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
}

TEST_CASE("each thread chooses its device, whose memory it uses", "[.][two-devices]") {
  CHECK(cudaSetDevice(1) == cudaSuccess);
  int other = -1;
  std::thread([&] { CHECK(cudaGetDevice(&other) == cudaSuccess); }).join();
  CHECK(other == 0);
  std::size_t all = 0;
  std::size_t total = 0;
  CHECK(cudaMemGetInfo(&all, &total) == cudaSuccess);
  CHECK(total == 1000448);
  const auto memory = rueda::cuda::make_device_memory(1000000);
  void* more = nullptr;
  CHECK(cudaMalloc(&more, 1000) == cudaErrorMemoryAllocation);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  std::size_t free = 0;
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == total);
}
