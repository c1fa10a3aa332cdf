#include <memory>
#include <set>
#include <utility>

#include "runtime.hpp"

namespace standin = rueda::standin;
using standin::Capture;
using standin::Mark;
using standin::note;
using standin::Stream;

struct CUevent_st {
  /// Shared, since a graph may be launched after the event has been destroyed.
  struct State {
    bool timed;
    std::shared_ptr<Mark> mark;        // of the last record; null: never recorded
    std::shared_ptr<Capture> capture;  // that the last record was part of
    std::set<std::size_t> after;       // nodes of that capture
  };
  std::shared_ptr<State> state;
};

namespace {

using State = CUevent_st::State;

cudaError_t record_in_capture(Capture& capture, Stream& stream, State& event) {
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  event.after = capture.frontier.at(&stream);
  event.mark = nullptr;
  return cudaSuccess;
}

/// A node that records the event each time the graph is launched.
cudaError_t record_in_graph(Capture& capture, Stream& stream, std::shared_ptr<State> event) {
  return capture.add(stream, [event = std::move(event)] {
    event->capture = nullptr;
    event->mark = std::make_shared<Mark>();
    return standin::Item([mark = event->mark] { mark->reach(); });
  });
}

/// Waiting for an event of a capture takes a stream into it.
cudaError_t join(Stream& stream, const std::shared_ptr<Capture>& own, const State& event) {
  Capture& capture = *event.capture;
  if (capture.ended) return cudaErrorCapturedEvent;
  if (own != nullptr && own != event.capture) {
    own->valid = capture.valid = false;
    return cudaErrorStreamCaptureMerge;
  }
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  if (standin::is_legacy(stream)) {
    capture.valid = false;
    return cudaErrorStreamCaptureImplicit;
  }
  capture.frontier[&stream].insert(event.after.begin(), event.after.end());
  return cudaSuccess;
}

cudaError_t wait_for(Stream& stream, const State& event) {
  const auto own = standin::capture_of(stream);
  if (event.capture) return join(stream, own, event);
  if (own) {
    own->valid = false;
    return cudaErrorStreamCaptureIsolation;
  }
  if (event.mark) stream.push([mark = event.mark] { mark->wait(); });
  return cudaSuccess;
}

/// For what asks about an event from outside.
cudaError_t forbid_for(const State& event) {
  if (!event.capture) return standin::forbid_in_capture();
  if (!event.capture->ended) event.capture->valid = false;
  return cudaErrorCapturedEvent;
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{std::make_shared<State>()};
  (*event)->state->timed = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return note(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream_handle,
                                     unsigned flags) {
  const std::lock_guard lock(standin::order_mutex());
  Stream* stream = standin::find_stream(stream_handle);
  if (handle == nullptr || stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  const auto capture = standin::capture_of(*stream);
  if (capture && (flags & cudaEventRecordExternal) != 0) {
    return note(record_in_graph(*capture, *stream, handle->state));
  }
  State& event = *handle->state;
  event.capture = capture;
  if (capture) return note(record_in_capture(*capture, *stream, event));
  event.mark = std::make_shared<Mark>();
  return note(standin::submit(stream_handle, [mark = event.mark] { mark->reach(); }));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(standin::order_mutex());
  Stream* stream = standin::find_stream(stream_handle);
  if (event == nullptr || stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  return note(wait_for(*stream, *event->state));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event == nullptr) return note(cudaErrorInvalidResourceHandle);
  std::shared_ptr<Mark> mark;
  {
    const std::lock_guard lock(standin::order_mutex());
    const cudaError_t code = forbid_for(*event->state);
    if (code != cudaSuccess) return note(code);
    mark = event->state->mark;
  }
  if (mark) mark->wait();
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event == nullptr) return note(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock(standin::order_mutex());
  const cudaError_t code = forbid_for(*event->state);
  if (code != cudaSuccess) return note(code);
  const auto& mark = event->state->mark;
  return note(!mark || mark->reached() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  const std::lock_guard lock(standin::order_mutex());
  for (const cudaEvent_t event : {start, end}) {
    if (event == nullptr || !event->state->timed) return note(cudaErrorInvalidResourceHandle);
    if (event->state->capture) return note(cudaErrorCapturedEvent);
    if (!event->state->mark) return note(cudaErrorInvalidResourceHandle);
    if (!event->state->mark->reached()) return note(cudaErrorNotReady);
  }
  const auto elapsed = end->state->mark->time() - start->state->mark->time();
  *ms = std::chrono::duration<float, std::milli>(elapsed).count();
  return cudaSuccess;
}

}  // extern "C"
