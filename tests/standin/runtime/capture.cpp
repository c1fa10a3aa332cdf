#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "runtime.hpp"

// Captures and graphs. Captures are of one thread: cudaStreamCaptureModeThreadLocal.

namespace rueda::standin {
namespace {

using Captures = std::vector<std::shared_ptr<Capture>>;

Captures& under_way() {
  static auto& it = *new Captures;
  return it;
}

/// Whether the origin's stream waits, at last, for every node.
bool all_joined(const Capture& capture) {
  std::set<std::size_t> seen = capture.frontier.at(capture.origin);
  for (std::size_t i = capture.nodes.size(); i-- > 0;) {
    if (seen.count(i) == 0) return false;  // nothing that comes later waits for it
    seen.insert(capture.nodes[i].after.begin(), capture.nodes[i].after.end());
  }
  return true;
}

/// Takes every stream out of the capture.
cudaError_t end(Capture& capture) {
  capture.ended = true;
  std::erase_if(under_way(), [&](const auto& other) { return other.get() == &capture; });
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  return all_joined(capture) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

/// The nodes in an order that keeps every captured dependency: that of the capture, or with delays
/// another one, in which a dependency that was forgotten shows.
std::vector<Node> in_order(const std::vector<Node>& nodes) {
  if (!has_delays()) return nodes;
  std::mt19937 random(unsigned(setting("RUEDA_STANDIN_SEED", 1)));
  std::vector<std::size_t> left(nodes.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::set<std::size_t> done;
  std::vector<Node> result;
  while (!left.empty()) {
    std::shuffle(left.begin(), left.end(), random);
    const auto next = std::find_if(left.begin(), left.end(), [&](std::size_t i) {
      return std::includes(done.begin(), done.end(), nodes[i].after.begin(), nodes[i].after.end());
    });
    result.push_back(nodes[*next]);
    done.insert(*next);
    left.erase(next);
  }
  return result;
}

void run_all(const std::vector<Item>& items, std::mutex& running) {
  const std::lock_guard lock(running);
  for (const Item& item : items) {
    before_item();
    item();
  }
}

}  // namespace

cudaError_t Capture::add(Stream& stream, std::function<Item()> prepare) {
  if (!valid) return cudaErrorStreamCaptureInvalidated;
  auto& after = frontier.at(&stream);
  const std::size_t index = nodes.size();
  nodes.push_back({std::move(prepare), std::exchange(after, {index})});
  return cudaSuccess;
}

std::atomic<std::size_t> largest_graph{0};
std::atomic<std::size_t> compilations{0};

std::recursive_mutex& order_mutex() {
  static auto& it = *new std::recursive_mutex;
  return it;
}

std::shared_ptr<Capture> capture_of(const Stream& stream) {
  for (const auto& capture : under_way()) {
    if (capture->frontier.count(const_cast<Stream*>(&stream)) != 0) return capture;
  }
  return nullptr;
}

cudaError_t forbid_in_capture() {
  const std::lock_guard lock(order_mutex());
  cudaError_t result = cudaSuccess;
  for (const auto& capture : under_way()) {
    if (capture->thread != std::this_thread::get_id()) continue;
    capture->valid = false;
    result = cudaErrorStreamCaptureUnsupported;
  }
  return result;
}

}  // namespace rueda::standin

namespace standin = rueda::standin;
using standin::Item;
using standin::note;

struct CUgraph_st {
  std::vector<standin::Node> nodes;
};

struct CUgraphExec_st {
  std::vector<standin::Node> nodes;
  std::shared_ptr<std::mutex> running;  // launches of one graph come one after another
};

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(standin::order_mutex());
  standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (standin::is_legacy(*stream)) return note(cudaErrorStreamCaptureUnsupported);
  if (standin::capture_of(*stream)) return note(cudaErrorInvalidValue);
  if (mode != cudaStreamCaptureModeThreadLocal) return note(cudaErrorNotSupported);
  auto capture =
      std::make_shared<standin::Capture>(standin::Capture{std::this_thread::get_id(), stream});
  capture->frontier[stream];
  standin::under_way().push_back(std::move(capture));
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const std::lock_guard lock(standin::order_mutex());
  *graph = nullptr;
  standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  const auto capture = standin::capture_of(*stream);
  if (!capture) return note(cudaErrorInvalidValue);
  if (capture->origin != stream) return note(cudaErrorStreamCaptureUnmatched);
  if (capture->thread != std::this_thread::get_id()) {
    return note(cudaErrorStreamCaptureWrongThread);
  }
  const cudaError_t code = standin::end(*capture);
  if (code == cudaSuccess) *graph = new CUgraph_st{capture->nodes};
  return note(code);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(standin::order_mutex());
  const standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  const auto capture = standin::capture_of(*stream);
  *status = !capture         ? cudaStreamCaptureStatusNone
            : capture->valid ? cudaStreamCaptureStatusActive
                             : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

/// Only how many there are.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (graph == nullptr || count == nullptr) return note(cudaErrorInvalidValue);
  if (nodes != nullptr) return note(cudaErrorNotSupported);
  *count = graph->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) return note(cudaErrorInvalidValue);
  standin::largest_graph = std::max(standin::largest_graph.load(), graph->nodes.size());
  *exec = new CUgraphExec_st{standin::in_order(graph->nodes), std::make_shared<std::mutex>()};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr) return note(cudaErrorInvalidValue);
  const std::lock_guard lock(standin::order_mutex());
  const standin::Stream* launched_on = standin::find_stream(stream);
  if (launched_on != nullptr && standin::capture_of(*launched_on)) {
    return note(standin::forbid_for(*launched_on));  // a graph is no node of another
  }
  std::vector<Item> items;
  for (const standin::Node& node : exec->nodes) items.push_back(node.prepare());
  return note(standin::submit(stream, [items = std::move(items), running = exec->running] {
    standin::run_all(items, *running);
  }));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

}  // extern "C"
