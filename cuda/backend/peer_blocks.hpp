#pragma once

#include <bit>
#include <cstddef>
#include <memory>

#include "cuda/device/handles.hpp"
#include "rueda/reduce/reduce_device.hpp"

// Device memory that processes map into each other: CUDA IPC.

namespace rueda::cuda {

/// CUDA maps whole units, so that a smaller block would take its neighbours with it.
inline constexpr std::size_t kMappedUnit = std::size_t{2} << 20;

/// An error is not left behind for the check of a later launch: a program may go on without peers.
inline void check_peer(cudaError_t code, const char* call) {
  if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
  check(code, call);
}

/// Memory of the current device by plain cudaMalloc, which alone can be exported; not zeroed.
inline std::shared_ptr<float[]> export_block(std::size_t floats, PeerHandle& handle) {
  const std::size_t units = (floats * sizeof(float) + kMappedUnit - 1) / kMappedUnit;
  DeviceMemory memory = make_device_memory(units * kMappedUnit);
  cudaIpcMemHandle_t own{};
  check_peer(cudaIpcGetMemHandle(&own, memory.get()), "cudaIpcGetMemHandle");
  handle = std::bit_cast<PeerHandle>(own);
  return {static_cast<float*>(memory.release()), Destroy<cudaFree>()};
}

/// The block of another process, in the address space of the current device.
inline std::shared_ptr<float[]> import_block(const PeerHandle& theirs) {
  void* block = nullptr;
  check_peer(cudaIpcOpenMemHandle(&block, std::bit_cast<cudaIpcMemHandle_t>(theirs),
                                  cudaIpcMemLazyEnablePeerAccess),
             "cudaIpcOpenMemHandle");
  const auto close = [ordinal = current_device()](float* mapped) {
    static_cast<void>(cudaSetDevice(ordinal));
    static_cast<void>(cudaIpcCloseMemHandle(mapped));
  };
  return {static_cast<float*>(block), close};
}

}  // namespace rueda::cuda
