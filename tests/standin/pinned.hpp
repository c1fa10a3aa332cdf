#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"

namespace rueda::test {

/// An array in pinned memory.
template <typename T>
class Pinned {
 public:
  explicit Pinned(std::size_t size) {
    cuda::check(cudaMallocHost(&memory_, size * sizeof(T)), "cudaMallocHost");
  }
  ~Pinned() { static_cast<void>(cudaFreeHost(memory_)); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  T* data() { return static_cast<T*>(memory_); }
  T& operator[](std::size_t i) { return data()[i]; }

 private:
  void* memory_ = nullptr;
};

}  // namespace rueda::test
