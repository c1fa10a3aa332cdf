#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <future>
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

/// Holds a stream up until it is opened; opens at the latest when it goes. Gives up after ten
/// seconds, so that a test that waits for what it should not wait for ends.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) : stream_(stream) {
    cuda::check(cudaLaunchHostFunc(stream, &Gate::hold, this), "cudaLaunchHostFunc");
  }
  ~Gate() {
    open();
    static_cast<void>(cudaStreamSynchronize(stream_));
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!opened_) promise_.set_value();
    opened_ = true;
  }
  bool gave_up() const { return gave_up_; }

 private:
  static void CUDART_CB hold(void* gate) {
    Gate& self = *static_cast<Gate*>(gate);
    self.gave_up_ = self.future_.wait_for(std::chrono::seconds(10)) == std::future_status::timeout;
  }

  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
  std::atomic<bool> gave_up_{false};
  bool opened_ = false;
  cudaStream_t stream_;
};

}  // namespace rueda::test
