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

}  // namespace rueda::standin

/// A node of a graph. `prepare`, called when the graph is launched, gives what is to be done then.
struct CUgraphNode_st {
  std::function<rueda::standin::Item()> prepare;
  std::set<std::size_t> after;  ///< nodes that come before it
  cudaGraphNodeType type;
};

namespace rueda::standin {

using Node = CUgraphNode_st;

/// What is recorded between cudaStreamBeginCapture and cudaStreamEndCapture.
struct Capture {
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  Stream* origin;
  bool valid = true;
  bool ended = false;
  std::vector<Node> nodes;
  /// For each stream that takes part, the nodes after which its next one comes.
  std::map<Stream*, std::set<std::size_t>> frontier;
};

/// One lock for everything that orders work: submission, events, captures.
std::recursive_mutex& order_mutex();

/// The capture that a stream takes part in, or null. These and the following are called with the
/// lock held.
std::shared_ptr<Capture> capture_of(const Stream& stream);

std::shared_ptr<Capture> begin_capture(Stream& origin, cudaStreamCaptureMode mode);

/// Takes every stream out of the capture.
void end_capture(Capture& capture);

/// Adds a node that follows all that the stream has in the capture.
void add_node(Capture& capture, Stream& stream, std::function<Item()> prepare,
              cudaGraphNodeType type);

/// Whether the origin's stream waits, at last, for every node.
bool all_joined(const Capture& capture);

/// For calls that CUDA forbids while captures are under way, by the mode of this thread and that
/// of the captures: makes the captures in question invalid and returns
/// cudaErrorStreamCaptureUnsupported, or returns cudaSuccess.
cudaError_t forbid_in_capture();

/// For work on the legacy default stream: cudaErrorStreamCaptureImplicit if a blocking stream of
/// its device is being captured, else as forbid_in_capture.
cudaError_t forbid_legacy(int device);

}  // namespace rueda::standin
