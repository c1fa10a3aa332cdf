#include "device.hpp"
#include "error.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace standin = rueda::standin;
using standin::MemoryKind;
using standin::MemoryMap;
using standin::note;

namespace {

cudaError_t forbid_in_capture() {
  const std::lock_guard lock(standin::order_mutex());
  return standin::forbid_in_capture();
}

cudaError_t allocate(void** memory, std::size_t bytes, MemoryKind kind) {
  *memory = nullptr;
  if (standin::device_count() == 0) return cudaErrorNoDevice;
  const cudaError_t code = forbid_in_capture();
  if (code != cudaSuccess || bytes == 0) return code;
  *memory = MemoryMap::instance().allocate(bytes, kind, standin::current_device());
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

/// Freeing waits for the device, as CUDA does.
cudaError_t release(void* memory, MemoryKind kind) {
  if (memory == nullptr) return cudaSuccess;
  const cudaError_t code = forbid_in_capture();
  if (code != cudaSuccess) return code;
  const auto block = MemoryMap::instance().find(memory);
  if (!block) return cudaErrorInvalidValue;
  standin::synchronize_device(block->device);
  return MemoryMap::instance().release(memory, kind) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaMemoryType type_of(MemoryKind kind) {
  return kind == MemoryKind::device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  return note(allocate(memory, bytes, MemoryKind::device));
}

cudaError_t cudaFree(void* memory) { return note(release(memory, MemoryKind::device)); }

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  return note(allocate(memory, bytes, MemoryKind::pinned));
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return note(allocate(memory, bytes, MemoryKind::pinned));
}

cudaError_t cudaFreeHost(void* memory) { return note(release(memory, MemoryKind::pinned)); }

cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned) {
  if (memory == nullptr || bytes == 0) return note(cudaErrorInvalidValue);
  const bool done = MemoryMap::instance().enlist(memory, bytes, standin::current_device());
  return note(done ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* memory) {
  const bool done = MemoryMap::instance().delist(memory);
  return note(done ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  if (!MemoryMap::instance().find(host)) return note(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

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
  attributes->type = type_of(block->kind);
  attributes->device = block->device;
  attributes->devicePointer = const_cast<void*>(address);
  if (block->kind == MemoryKind::device) attributes->hostPointer = nullptr;
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return note(cudaErrorNotSupported); }

cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  return note(cudaErrorNotSupported);
}

cudaError_t cudaIpcCloseMemHandle(void*) { return note(cudaErrorNotSupported); }

}  // extern "C"
