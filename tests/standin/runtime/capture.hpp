#pragma once

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

/// The nodes in an order that keeps every captured dependency: that of the capture, or with
/// `shuffle` another one, in which a dependency that was forgotten shows.
std::vector<Node> in_order(const std::vector<Node>& nodes, bool shuffle);

}  // namespace rueda::standin
