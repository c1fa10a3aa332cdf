#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

namespace rueda::standin {

using Item = std::function<void()>;
class Stream;

/// A node of a graph. `prepare`, called when the graph is launched, gives what is to be done then.
struct Node {
  std::function<Item()> prepare;
  std::set<std::size_t> after;  ///< nodes that come before it
};

/// What is recorded between cudaStreamBeginCapture and cudaStreamEndCapture.
struct Capture {
  std::thread::id thread;
  Stream* origin;
  bool valid = true;
  bool ended = false;
  std::vector<Node> nodes = {};
  /// For each stream that takes part, the nodes after which its next one comes.
  std::map<Stream*, std::set<std::size_t>> frontier = {};

  /// Adds a node that follows all that the stream has in the capture.
  cudaError_t add(Stream& stream, std::function<Item()> prepare);
};

/// One lock for everything that orders work: submission, events, captures.
std::recursive_mutex& order_mutex();

/// The capture that a stream takes part in, or null. Called with the lock held.
std::shared_ptr<Capture> capture_of(const Stream& stream);

/// For calls that CUDA forbids in a thread while it captures: makes its captures invalid and
/// returns cudaErrorStreamCaptureUnsupported, or returns cudaSuccess.
cudaError_t forbid_in_capture();

/// A point in a stream's work, reached once.
class Mark {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void reach();
  void wait();
  bool reached();
  /// When it was reached.
  Time time();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  Time time_;
};

/// Work in order, done by one thread. What was pushed before the end of its life is still done
/// afterwards, as CUDA does it. No stream waits for the default stream, nor that one for them.
class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void push(Item item);
  std::shared_ptr<Mark> push_mark();
  int device() const { return device_; }

 private:
  struct Queue;

  int device_;
  std::shared_ptr<Queue> queue_;
};

/// Queues `item` on a stream, or adds it to the capture that the stream takes part in. Errors:
/// cudaErrorInvalidResourceHandle and those of captures.
cudaError_t submit(cudaStream_t stream, Item item);

/// The stream of a handle; null is the current device's default stream. Null if the handle is
/// none.
Stream* find_stream(cudaStream_t handle);

/// Whether a stream is the default stream of its device.
bool is_legacy(const Stream& stream);

/// Waits for all work of all streams of a device.
void synchronize_device(int device);

}  // namespace rueda::standin

struct CUstream_st : rueda::standin::Stream {
  using Stream::Stream;
};
