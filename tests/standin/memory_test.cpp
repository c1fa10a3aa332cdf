#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/device/handles.hpp"
#include "standin.hpp"

// Memory is counted, its borders and kinds are kept.

namespace {

using rueda::cuda::make_device_memory;

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free + rueda::standin_bytes_in_use() == total);
  return free;
}

}  // namespace

TEST_CASE("device memory is counted, never zero at first, and comes back") {
  const std::size_t before = free_bytes();
  const std::size_t allocations = rueda::standin_allocations();
  rueda::standin_reset_peak();
  {
    const auto memory = make_device_memory(1000);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % 256 == 0);
    CHECK(free_bytes() == before - 1024);
    std::vector<unsigned char> bytes(1000);
    CHECK(cudaMemcpy(bytes.data(), memory.get(), 1000, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(bytes == std::vector<unsigned char>(1000, 0xA5));
  }
  CHECK(free_bytes() == before);
  CHECK(rueda::standin_allocations() == allocations + 1);
  CHECK(rueda::standin_peak_bytes() == rueda::standin_bytes_in_use() + 1024);
  void* memory = nullptr;
  for (const std::size_t bytes : {before + 1, std::size_t{SIZE_MAX}}) {
    CHECK(cudaMalloc(&memory, bytes) == cudaErrorMemoryAllocation);
    CHECK(memory == nullptr);
  }
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("copies stay within blocks and go where their kind says") {
  const auto memory = make_device_memory(16);
  const auto second = make_device_memory(16);
  std::vector<unsigned char> bytes(32);
  auto* const device = static_cast<unsigned char*>(memory.get());
  auto* const other = static_cast<unsigned char*>(second.get());
  auto* const host = bytes.data();
  struct Copy {
    unsigned char* to;
    unsigned char* from;
    std::size_t bytes;
    cudaMemcpyKind kind;
    bool valid;
  };
  for (const Copy& c : {Copy{device, host, 16, cudaMemcpyHostToDevice, true},
                        Copy{device + 8, host, 9, cudaMemcpyHostToDevice, false},
                        Copy{device, host, 16, cudaMemcpyDeviceToDevice, false},
                        Copy{host, device, 16, cudaMemcpyHostToDevice, false},
                        Copy{host, host + 16, 16, cudaMemcpyDeviceToHost, false},
                        Copy{other, device, 16, cudaMemcpyHostToDevice, false},
                        Copy{other, device, 16, cudaMemcpyDeviceToDevice, true},
                        Copy{other, device, 17, cudaMemcpyDefault, false}}) {
    CAPTURE(c.bytes, c.kind);
    CHECK(cudaMemcpyAsync(c.to, c.from, c.bytes, c.kind, nullptr) ==
          (c.valid ? cudaSuccess : cudaErrorInvalidValue));
  }
  CHECK(cudaMemsetAsync(device, 0, 17, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(host, 0, 4, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaFree(host) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("writing past a block is noticed when it is freed") {
  const std::size_t before = rueda::standin_overruns();
  for (const std::size_t place : {99U, 100U}) {
    const auto memory = make_device_memory(100);
    static_cast<unsigned char*>(memory.get())[place] = 1;
  }
  CHECK(rueda::standin_overruns() == before + 1);
}

TEST_CASE("freeing waits for what the device still does") {
  const auto stream = rueda::cuda::make_stream();
  auto memory = make_device_memory(4);
  bool done = false;
  const auto finish = [](void* flag) { *static_cast<bool*>(flag) = true; };
  CHECK(cudaMemsetAsync(memory.get(), 0, 4, stream.get()) == cudaSuccess);
  CHECK(cudaLaunchHostFunc(stream.get(), finish, &done) == cudaSuccess);
  memory = {};
  CHECK(done);
}
