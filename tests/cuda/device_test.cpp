#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_runtime_api.h>
#if RUEDA_WITH_CUDNN
#include <cudnn_version.h>
#endif

#include "base/error.hpp"
#include "cuda/device/device_query.hpp"
#include "cuda/device/handles.hpp"

// Devices, what is said of them, and what is held of them.

using Catch::Contains;
using rueda::cuda::check;

namespace {

std::map<int, int> destroyed;  // how often each fake handle was released

int count_destroyed(const int* handle) { return ++destroyed[*handle]; }

using Fake = rueda::cuda::Handle<const int*, count_destroyed>;

}  // namespace

TEST_CASE("cuda_devices gives devices or a reason, never both") {
  const auto found = rueda::cuda_devices();
  CHECK(found.visible.empty() != found.reason.empty());
  CHECK(found.runtime_version == CUDART_VERSION);
}

// Run with CUDA_VISIBLE_DEVICES empty, so that it holds on a machine with a GPU too.
TEST_CASE("cuda_devices without a device gives the reason", "[.][no-device]") {
  const auto found = rueda::cuda_devices();
  CHECK(found.visible.empty());
  CHECK_THAT(found.reason, Contains("driver"));
  CHECK(rueda::cuda_devices().reason == found.reason);
  CHECK_THROWS_AS(rueda::open_cuda_device(0), rueda::RunError);
  CHECK_THROWS_AS(rueda::make_device_exchange_buffer(16), rueda::RunError);
}

TEST_CASE("every device is described", "[device]") {
  const auto found = rueda::cuda_devices();
  std::set<std::string> uuids;
  for (std::size_t i = 0; i < found.visible.size(); ++i) {
    const auto& device = found.visible[i];
    CHECK(device.ordinal == int(i));
    CHECK_FALSE(device.name.empty());
    CHECK(device.memory_bytes > 0);
    CHECK(device.uuid.size() == 40);
    CHECK(uuids.insert(device.uuid).second);
  }
}

TEST_CASE("the reason names what is missing and what to do") {
  using rueda::cuda::no_device_reason;
  CHECK_THAT(no_device_reason(0, 13000, "insufficient"),
             Contains("no CUDA driver") && Contains("install"));
  CHECK_THAT(no_device_reason(12040, 13000, "insufficient"),
             Contains("12.4") && Contains("13.0") && Contains("too old"));
  CHECK_THAT(no_device_reason(13000, 13000, "no CUDA-capable device is detected"),
             Contains("no CUDA-capable device is detected") && Contains("CUDA_VISIBLE_DEVICES"));
  CHECK_THAT(no_device_reason(12000, 12080, "none"), !Contains("too old"));
}

TEST_CASE("versions read as people write them") {
  CHECK(rueda::cuda::cuda_version_text(13000) == "13.0");
  CHECK(rueda::cuda::cuda_version_text(12080) == "12.8");
  CHECK(rueda::cuda::cudnn_version_text(91900) == "9.19.0");
  CHECK(rueda::cuda::cudnn_version_text(90102) == "9.1.2");
}

TEST_CASE("a UUID reads as nvidia-smi writes it") {
  const unsigned char bytes[16] = {0x8f, 0x2c, 0x00, 0x01, 0xa0, 0x0b, 0x4c, 0x0d,
                                   0x9e, 0xff, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60};
  CHECK(rueda::cuda::uuid_text(bytes) == "GPU-8f2c0001-a00b-4c0d-9eff-102030405060");
}

TEST_CASE("the loaded libraries give their versions") {
  const auto versions = rueda::cuda_component_versions();
  REQUIRE_FALSE(versions.empty());
  CHECK(versions[0].first == "CUDA");
  CHECK(versions[0].second == rueda::cuda::cuda_version_text(CUDART_VERSION));
#if RUEDA_WITH_CUDNN
  REQUIRE(versions.size() == 2);
  CHECK(versions[1].first == "cuDNN");
  CHECK_THAT(versions[1].second, Catch::StartsWith(std::to_string(CUDNN_MAJOR) + "."));
  CHECK_THAT(rueda::cudnn_versions().value().compiled, Contains("."));
#else
  CHECK(versions.size() == 1);
#endif
}

TEST_CASE("the selected device is the thread's current one", "[device]") {
  const int last = int(rueda::cuda_devices().visible.size()) - 1;
  std::thread([last] {  // a thread of its own, since others begin with device 0
    CHECK(rueda::open_cuda_device(last) > 0);
    int current = -1;
    CHECK(cudaGetDevice(&current) == cudaSuccess);
    CHECK(current == last);
  })
      .join();
}

TEST_CASE("a device that does not exist is an error") {
  CHECK_THROWS_AS(rueda::open_cuda_device(12345), rueda::RunError);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("what a device exchange buffer is given it gives back", "[device]") {
  CHECK(rueda::open_cuda_device(0) > 0);
  const auto buffer = rueda::make_device_exchange_buffer(1000);
  std::vector<float> values(1000), back(1000, -1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i);
  for (const auto side : {buffer->send_side(), buffer->receive_side()}) {
    CHECK(side.size() == values.size());
    buffer->copy(side, values);
    buffer->copy(back, side);
    CHECK(back == values);
  }
}

TEST_CASE("a handle is released exactly once, by its last owner") {
  destroyed.clear();
  {
    const int one = 1, two = 2;
    const Fake empty;  // which releases nothing
    Fake first(&one);
    Fake second(std::move(first));
    CHECK(destroyed.empty());
    second = Fake(&two);  // releases what it held
    CHECK(destroyed == std::map<int, int>{{1, 1}});
  }
  CHECK(destroyed == std::map<int, int>{{1, 1}, {2, 1}});
}

TEST_CASE("the error of a failed CUDA call has its name, CUDA's words and the place") {
  CHECK_NOTHROW(check(cudaSuccess, "cudaMalloc"));
  CHECK_THROWS_AS(check(cudaErrorMemoryAllocation, "cudaMalloc"), rueda::RunError);
  CHECK_THROWS_WITH(check(cudaErrorMemoryAllocation, "cudaMalloc"),
                    Contains("cudaMalloc failed: out of memory (cudaErrorMemoryAllocation, at "
                             "device_test.cpp:") &&
                        Contains("--batch-per-rank"));
  CHECK_THROWS_WITH(check(cudaErrorNoKernelImageForDevice, "accumulate"), Contains("-Dgpu_archs"));
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
