#pragma once

#include <future>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"

namespace rueda::test {

/// Holds a stream up until it is opened; opens at the latest when it goes.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) {
    cuda::check(cudaLaunchHostFunc(stream, wait, this), "cudaLaunchHostFunc");
    stream_ = stream;
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

 private:
  static void wait(void* gate) { static_cast<Gate*>(gate)->future_.wait(); }

  cudaStream_t stream_ = nullptr;
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
  bool opened_ = false;
};

}  // namespace rueda::test
