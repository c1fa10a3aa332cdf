#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"

namespace rueda::test {

/// A copy of a vector on the device, moved by `stream`.
template <typename T>
class DeviceVector {
 public:
  DeviceVector(const std::vector<T>& host, cudaStream_t stream)
      : size_(host.size()), memory_(cuda::make_device_memory(bytes())), stream_(stream) {
    if (size_ == 0) return;
    cuda::check(
        cudaMemcpyAsync(memory_.get(), host.data(), bytes(), cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync");
    cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  T* data() const { return static_cast<T*>(memory_.get()); }

  /// What the device holds when all work queued so far is done.
  std::vector<T> read() const {
    std::vector<T> host(size_);
    if (size_ != 0) {
      cuda::check(
          cudaMemcpyAsync(host.data(), memory_.get(), bytes(), cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync");
    }
    cuda::check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return host;
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }

  std::size_t size_;
  cuda::DeviceMemory memory_;
  cudaStream_t stream_;
};

inline constexpr std::size_t kNoDifference = std::size_t(-1);

/// Where two vectors first differ in a bit (so -0 is not 0); kNoDifference if nowhere.
template <typename T>
std::size_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? a.size() : b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return i;
  }
  return kNoDifference;
}

}  // namespace rueda::test
