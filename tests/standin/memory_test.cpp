#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/device/handles.hpp"
#include "gate.hpp"
#include "pinned.hpp"
#include "standin.hpp"

namespace {

using rueda::cuda::make_device_memory;

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free + rueda::standin_bytes_in_use() == total);
  return free;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
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
    CHECK(copy(bytes.data(), memory.get(), 1000, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(bytes == std::vector<unsigned char>(1000, 0xA5));
  }
  CHECK(free_bytes() == before);
  CHECK(rueda::standin_allocations() == allocations + 1);
  CHECK(rueda::standin_peak_bytes() == rueda::standin_bytes_in_use() + 1024);
}

TEST_CASE("a device has no more memory than it says") {
  const std::size_t free = free_bytes();
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, free + 1) == cudaErrorMemoryAllocation);
  CHECK(memory == nullptr);
  CHECK(cudaMalloc(&memory, SIZE_MAX) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(free_bytes() == free);
}

TEST_CASE("copies stay within blocks and go where their kind says") {
  const auto memory = make_device_memory(16);
  const auto other = make_device_memory(16);
  auto* device = static_cast<unsigned char*>(memory.get());
  std::vector<unsigned char> host(32);
  CHECK(copy(device, host.data(), 16, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(copy(device + 8, host.data(), 9, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(device, host.data(), 16, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(copy(host.data(), device, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(host.data(), host.data() + 16, 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(copy(other.get(), device, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(other.get(), device, 16, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(copy(other.get(), device, 17, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(device, 0, 17, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(host.data(), 0, 4, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaFree(host.data()) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("rows are copied with their pitches") {
  const auto memory = make_device_memory(12);
  std::vector<unsigned char> host = {1, 2, 9, 3, 4, 9, 5, 6};
  CHECK(cudaMemset(memory.get(), 0, 12) == cudaSuccess);
  CHECK(cudaMemcpy2DAsync(memory.get(), 4, host.data(), 3, 2, 3, cudaMemcpyHostToDevice, nullptr) ==
        cudaSuccess);
  CHECK(cudaMemcpy2DAsync(memory.get(), 5, host.data(), 3, 2, 3, cudaMemcpyHostToDevice, nullptr) ==
        cudaSuccess);
  CHECK(cudaMemcpy2DAsync(memory.get(), 6, host.data(), 3, 2, 3, cudaMemcpyHostToDevice, nullptr) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpy2DAsync(memory.get(), 2, host.data(), 3, 3, 2, cudaMemcpyHostToDevice,
                          nullptr) == cudaErrorInvalidValue);  // rows longer than their pitch
  CHECK(cudaMemset2DAsync(memory.get(), 2, 0, 3, 2, nullptr) == cudaErrorInvalidValue);
  std::vector<unsigned char> result(12);
  CHECK(cudaMemcpy(result.data(), memory.get(), 12, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(result == std::vector<unsigned char>{1, 2, 0, 0, 3, 3, 4, 0, 5, 6, 5, 6});
}

TEST_CASE("pointers tell what they are") {
  const auto memory = make_device_memory(16);
  rueda::test::Pinned<char> pinned(16);
  std::vector<char> plain(16);
  cudaPointerAttributes attributes{};
  const auto type_of = [&](const void* pointer) {
    CHECK(cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess);
    return attributes.type;
  };
  CHECK(type_of(static_cast<char*>(memory.get()) + 15) == cudaMemoryTypeDevice);
  CHECK(attributes.device == 0);
  CHECK(type_of(pinned.data()) == cudaMemoryTypeHost);
  CHECK(type_of(plain.data()) == cudaMemoryTypeUnregistered);
  CHECK(cudaHostRegister(plain.data(), 16, 0) == cudaSuccess);
  CHECK(cudaHostRegister(plain.data() + 8, 16, 0) == cudaErrorHostMemoryAlreadyRegistered);
  CHECK(type_of(plain.data()) == cudaMemoryTypeHost);
  CHECK(cudaHostUnregister(plain.data()) == cudaSuccess);
  CHECK(type_of(plain.data()) == cudaMemoryTypeUnregistered);
}

TEST_CASE("writing behind a block is noticed when it is freed") {
  const std::size_t before = rueda::standin_overruns();
  {
    const auto memory = make_device_memory(100);
    static_cast<unsigned char*>(memory.get())[99] = 1;
  }
  CHECK(rueda::standin_overruns() == before);
  {
    const auto memory = make_device_memory(100);
    static_cast<unsigned char*>(memory.get())[100] = 1;
  }
  CHECK(rueda::standin_overruns() == before + 1);
}

TEST_CASE("freeing waits for what the device still does") {
  const auto stream = rueda::cuda::make_stream();
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4) == cudaSuccess);
  bool done = false;
  const auto finish = [](void* flag) { *static_cast<bool*>(flag) = true; };
  CHECK(cudaMemsetAsync(memory, 0, 4, stream.get()) == cudaSuccess);
  CHECK(cudaLaunchHostFunc(stream.get(), finish, &done) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  CHECK(done);
}
