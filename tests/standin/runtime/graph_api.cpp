#include <algorithm>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "error.hpp"
#include "graph.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace standin = rueda::standin;
using standin::Item;
using standin::Node;
using standin::note;

struct CUgraph_st {
  std::vector<Node> nodes;
};

struct CUgraphExec_st {
  std::vector<Node> nodes;
  std::shared_ptr<std::mutex> running;  // launches of one graph come one after another
};

namespace rueda::standin {

std::vector<Node> in_order(const std::vector<Node>& nodes, bool shuffle) {
  if (!shuffle) return nodes;
  std::mt19937 random(static_cast<unsigned>(setting("RUEDA_STANDIN_SEED", 1)));
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

}  // namespace rueda::standin

namespace {

cudaError_t finish(standin::Capture& capture, cudaGraph_t* graph) {
  standin::end_capture(capture);
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  if (!standin::all_joined(capture)) return cudaErrorStreamCaptureUnjoined;
  *graph = new CUgraph_st{capture.nodes};
  return cudaSuccess;
}

void run_all(const std::vector<Item>& items, std::mutex& running) {
  const std::lock_guard lock(running);
  for (const Item& item : items) {
    standin::before_item();
    item();
  }
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(standin::order_mutex());
  standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  if (standin::is_legacy(*stream)) return note(cudaErrorStreamCaptureUnsupported);
  if (standin::capture_of(*stream)) return note(cudaErrorInvalidValue);
  standin::begin_capture(*stream, mode);
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
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return note(cudaErrorStreamCaptureWrongThread);
  }
  return note(finish(*capture, graph));
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

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) return note(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st{standin::in_order(graph->nodes, standin::shuffles_graphs()),
                             std::make_shared<std::mutex>()};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  const bool known = exec != nullptr && standin::find_stream(stream) != nullptr;
  return note(known ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr) return note(cudaErrorInvalidValue);
  const std::lock_guard lock(standin::order_mutex());
  std::vector<Item> items;
  for (const Node& node : exec->nodes) items.push_back(node.prepare());
  return note(standin::submit(
      stream, [items = std::move(items), running = exec->running] { run_all(items, *running); },
      cudaGraphNodeTypeGraph));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr) return note(cudaErrorInvalidValue);
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return cudaSuccess;
  }
  *count = std::min(*count, graph->nodes.size());
  for (std::size_t i = 0; i < *count; ++i) nodes[i] = &graph->nodes[i];
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (node == nullptr) return note(cudaErrorInvalidValue);
  *type = node->type;
  return cudaSuccess;
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
