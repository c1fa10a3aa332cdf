#pragma once

#include <functional>
#include <memory>

#include <cuda_runtime_api.h>

#include "capture.hpp"
#include "mark.hpp"

namespace rueda::standin {

/// Work in order, done by one thread. What was pushed before the end of its life is still done
/// afterwards, as CUDA does it.
class Stream {
 public:
  Stream(int device, bool blocking);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void push(Item item);
  std::shared_ptr<Mark> push_mark();
  bool idle() const;
  int device() const { return device_; }
  /// Whether it and the legacy default stream wait for each other.
  bool blocking() const { return blocking_; }

 private:
  struct Queue;

  int device_;
  bool blocking_;
  std::shared_ptr<Queue> queue_;
};

/// Queues `item` on a stream, or adds it to the capture that the stream takes part in. Errors:
/// cudaErrorInvalidResourceHandle and those of captures.
cudaError_t submit(cudaStream_t stream, Item item, cudaGraphNodeType type);

/// The stream behind a handle: null and cudaStreamLegacy are the current device's default stream.
/// Null if the handle is none.
Stream* find_stream(cudaStream_t handle);

/// Whether a stream is the default stream of its device.
bool is_legacy(const Stream& stream);

/// Waits for all work of all streams of a device.
void synchronize_device(int device);

}  // namespace rueda::standin

struct CUstream_st : rueda::standin::Stream {
  using Stream::Stream;
};
