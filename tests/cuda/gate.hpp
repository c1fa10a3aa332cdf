#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"

namespace rueda::test {

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
