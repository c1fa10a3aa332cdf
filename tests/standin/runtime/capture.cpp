#include "capture.hpp"

#include <algorithm>
#include <utility>

#include "error.hpp"
#include "stream.hpp"

namespace rueda::standin {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

using Captures = std::vector<std::shared_ptr<Capture>>;

Captures& under_way() {
  static auto& it = *new Captures;
  return it;
}

bool forbids(const Capture& capture) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != cudaStreamCaptureModeRelaxed;
  }
  return thread_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

}  // namespace

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

std::shared_ptr<Capture> begin_capture(Stream& origin, cudaStreamCaptureMode mode) {
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &origin;
  capture->frontier[&origin];
  under_way().push_back(capture);
  return capture;
}

void end_capture(Capture& capture) {
  capture.ended = true;
  std::erase_if(under_way(), [&](const auto& other) { return other.get() == &capture; });
}

void add_node(Capture& capture, Stream& stream, std::function<Item()> prepare,
              cudaGraphNodeType type) {
  auto& frontier = capture.frontier.at(&stream);
  const std::size_t index = capture.nodes.size();
  capture.nodes.push_back({std::move(prepare), std::exchange(frontier, {index}), type});
}

bool all_joined(const Capture& capture) {
  std::set<std::size_t> seen = capture.frontier.at(capture.origin);
  for (std::size_t i = capture.nodes.size(); i-- > 0;) {
    if (seen.count(i) == 0) return false;  // nothing that comes later waits for it
    seen.insert(capture.nodes[i].after.begin(), capture.nodes[i].after.end());
  }
  return true;
}

cudaError_t forbid_in_capture() {
  cudaError_t result = cudaSuccess;
  for (const auto& capture : under_way()) {
    if (!forbids(*capture)) continue;
    capture->valid = false;
    result = cudaErrorStreamCaptureUnsupported;
  }
  return result;
}

cudaError_t forbid_legacy(int device) {
  for (const auto& capture : under_way()) {
    for (const auto& [stream, after] : capture->frontier) {
      if (!stream->blocking() || stream->device() != device) continue;
      capture->valid = false;
      return cudaErrorStreamCaptureImplicit;
    }
  }
  return forbid_in_capture();
}

}  // namespace rueda::standin

extern "C" cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  *mode = std::exchange(rueda::standin::thread_mode, *mode);
  return cudaSuccess;
}
