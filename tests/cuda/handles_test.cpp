#include "cuda/device/handles.hpp"

#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;

namespace {

std::map<int, int> destroyed;  // how often each fake handle was released

int count_destroyed(int handle) { return ++destroyed[handle]; }

using Fake = rueda::cuda::Handle<int, count_destroyed>;

}  // namespace

TEST_CASE("a handle is released exactly once, by its last owner") {
  static_assert(!std::is_copy_constructible_v<Fake> && !std::is_copy_assignable_v<Fake>);
  static_assert(std::is_nothrow_move_constructible_v<Fake>);
  destroyed.clear();
  {
    Fake first(1);
    Fake second(std::move(first));
    CHECK_FALSE(first);
    CHECK(second.get() == 1);
    CHECK(destroyed.empty());
  }
  CHECK(destroyed == std::map<int, int>{{1, 1}});
}

TEST_CASE("assigning to a handle releases what it held") {
  destroyed.clear();
  {
    Fake first(1);
    Fake second(2);
    first = std::move(second);
    CHECK(destroyed == std::map<int, int>{{1, 1}});
    CHECK(first.get() == 2);
    Fake& same = first;
    first = std::move(same);
    CHECK(first.get() == 2);
  }
  CHECK(destroyed == std::map<int, int>{{1, 1}, {2, 1}});
}

TEST_CASE("an empty handle releases nothing") {
  destroyed.clear();
  { Fake empty; }
  { Fake zero(0); }
  CHECK(destroyed.empty());
}

TEST_CASE("a failed CUDA call tells its name, CUDA's words and the place") {
  CHECK_NOTHROW(rueda::cuda::check(cudaSuccess, "cudaMalloc"));
  CHECK_THROWS_AS(rueda::cuda::check(cudaErrorMemoryAllocation, "cudaMalloc"), rueda::RunError);
  CHECK_THROWS_WITH(rueda::cuda::check(cudaErrorMemoryAllocation, "cudaMalloc"),
                    Contains("cudaMalloc failed: out of memory (cudaErrorMemoryAllocation, at "
                             "handles_test.cpp:") &&
                        Contains("--batch-per-rank"));
  CHECK_THROWS_WITH(rueda::cuda::check(cudaErrorNoKernelImageForDevice, "accumulate"),
                    Contains("-Dgpu_archs"));
}

TEST_CASE("streams, events and memory come from the device", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  const auto event = rueda::cuda::make_event();
  const auto memory = rueda::cuda::make_device_memory(100);
  CHECK(stream);
  CHECK(memory);
  CHECK_FALSE(rueda::cuda::make_device_memory(0));
  CHECK(cudaMemsetAsync(memory.get(), 1, 100, stream.get()) == cudaSuccess);
  CHECK(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
  CHECK(cudaEventSynchronize(event.get()) == cudaSuccess);
}
