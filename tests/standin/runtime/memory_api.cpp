#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime.hpp"

namespace standin = rueda::standin;
using standin::Item;
using standin::MemoryKind;
using standin::MemoryMap;
using standin::note;

namespace {

cudaError_t allocate(void** memory, std::size_t bytes, MemoryKind kind) {
  *memory = nullptr;
  if (standin::device_count() == 0) return cudaErrorNoDevice;
  const cudaError_t code = standin::forbid_in_capture();
  if (code != cudaSuccess || bytes == 0) return code;
  *memory = MemoryMap::instance().allocate(bytes, kind, standin::current_device());
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

/// Freeing waits for the device, as CUDA does.
cudaError_t release(void* memory, MemoryKind kind) {
  if (memory == nullptr) return cudaSuccess;
  const cudaError_t code = standin::forbid_in_capture();
  if (code != cudaSuccess) return code;
  const auto block = MemoryMap::instance().find(memory);
  if (!block) return cudaErrorInvalidValue;
  standin::synchronize_device(block->device);
  return MemoryMap::instance().release(memory, kind) ? cudaSuccess : cudaErrorInvalidValue;
}

bool may_be(const void* address, std::size_t bytes, bool on_device) {
  if (on_device) return standin::is_device_range(address, bytes);
  return !standin::is_device_address(address);
}

/// Whether both ends lie where `kind` says they do, and wholly so.
bool is_valid(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) {
    to_device = standin::is_device_address(to);
    from_device = standin::is_device_address(from);
  }
  return to != nullptr && from != nullptr && may_be(to, bytes, to_device) &&
         may_be(from, bytes, from_device);
}

bool is_pageable(const void* address) { return !MemoryMap::instance().find(address).has_value(); }

bool is_captured(cudaStream_t handle) {
  const std::lock_guard lock(standin::order_mutex());
  const standin::Stream* stream = standin::find_stream(handle);
  return stream != nullptr && standin::capture_of(*stream) != nullptr;
}

/// A copy from or to pageable memory may have to wait.
cudaError_t record_copy(void* to, const void* from, cudaStream_t handle, Item item) {
  const std::lock_guard lock(standin::order_mutex());
  if (is_pageable(from) || is_pageable(to))
    return standin::forbid_for(*standin::find_stream(handle));
  return standin::submit(handle, std::move(item));
}

/// What is pageable has been read when the call returns, as CUDA reads it into memory of its own.
Item copy_of_read(void* to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(from);
  auto read = std::make_shared<std::vector<std::byte>>(first, first + bytes);
  return [=] { standin::copy_slowly(to, read->data(), bytes); };
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (!is_valid(to, from, bytes, kind)) return cudaErrorInvalidValue;
  if (standin::is_device_address(from) && !standin::is_device_address(to))
    MemoryMap::instance().count_copy_to_host(bytes);
  standin::note_launch({.name = "copy",
                        .touched = {{0,
                                     {.read = standin::is_device_address(from) ? bytes : 0,
                                      .written = standin::is_device_address(to) ? bytes : 0}}}});
  Item item = [=] { standin::copy_slowly(to, from, bytes); };
  if (is_captured(stream)) return record_copy(to, from, stream, std::move(item));
  if (is_pageable(from)) item = copy_of_read(to, from, bytes);
  const cudaError_t code = standin::submit(stream, std::move(item));
  if (code != cudaSuccess || !is_pageable(to)) return code;
  return cudaStreamSynchronize(stream);  // as CUDA, which then has no more memory to go through
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  return note(allocate(memory, bytes, MemoryKind::device));
}

cudaError_t cudaFree(void* memory) { return note(release(memory, MemoryKind::device)); }

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return note(allocate(memory, bytes, MemoryKind::pinned));
}

cudaError_t cudaFreeHost(void* memory) { return note(release(memory, MemoryKind::pinned)); }

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  if (standin::device_count() == 0) return note(cudaErrorNoDevice);
  *total_bytes = standin::device_bytes();
  const std::size_t used = MemoryMap::instance().used(standin::current_device());
  *free_bytes = standin::setting("RUEDA_STANDIN_CLAIMED", *total_bytes - used);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  *attributes = {};
  attributes->hostPointer = const_cast<void*>(address);
  attributes->device = -2;  // as CUDA has it for memory that it does not know
  const auto block = MemoryMap::instance().find(address);
  if (!block) return cudaSuccess;
  const bool on_device = block->kind == MemoryKind::device;
  attributes->type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  attributes->device = block->device;
  attributes->devicePointer = const_cast<void*>(address);
  if (on_device) attributes->hostPointer = nullptr;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return note(copy(to, from, bytes, kind, stream));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t code = copy(to, from, bytes, kind, nullptr);
  return note(code == cudaSuccess ? cudaStreamSynchronize(nullptr) : code);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (!standin::is_device_range(to, bytes)) return note(cudaErrorInvalidValue);
  standin::note_launch({.name = "clear", .touched = {{0, {.read = 0, .written = bytes}}}});
  return note(standin::submit(stream, [=] { std::memset(to, value, bytes); }));
}

}  // extern "C"
