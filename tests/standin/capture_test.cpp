#include <functional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/device/handles.hpp"

// What a capture records, what it refuses, and what a graph does.

namespace {

using rueda::cuda::make_event;
using rueda::cuda::make_stream;

void add_one(void* number) { ++*static_cast<int*>(number); }

void add(cudaStream_t stream, int& number) {
  CHECK(cudaLaunchHostFunc(stream, add_one, &number) == cudaSuccess);
}

void begin(cudaStream_t stream) {
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
}

/// Ends the capture, expecting `code`; the graph that it made, ready to be launched.
cudaGraphExec_t end(cudaStream_t stream, cudaError_t code = cudaSuccess) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == code);
  CHECK((graph != nullptr) == (code == cudaSuccess));
  static_cast<void>(cudaGetLastError());
  if (graph == nullptr) return nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  return exec;
}

void launch(cudaGraphExec_t exec, cudaStream_t stream) {
  CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
}

/// After waiting for what `from` has done so far, `to` goes on.
void wait(cudaStream_t to, cudaStream_t from) {
  const auto event = make_event();
  CHECK(cudaEventRecord(event.get(), from) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(to, event.get(), 0) == cudaSuccess);
}

}  // namespace

TEST_CASE("captured work and events are done when the graph is launched, each time") {
  const auto stream = make_stream();
  const auto first = rueda::cuda::make_timing_event();
  const auto last = rueda::cuda::make_timing_event();
  int count = 0;
  begin(stream.get());
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK(cudaStreamIsCapturing(stream.get(), &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  const auto record = [&](const rueda::cuda::Event& event) {
    CHECK(cudaEventRecordWithFlags(event.get(), stream.get(), cudaEventRecordExternal) ==
          cudaSuccess);
  };
  record(first);
  for (int i = 0; i < 3; ++i) add(stream.get(), count);
  record(last);
  cudaGraphExec_t exec = end(stream.get());
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(count == 0);
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, first.get(), last.get()) == cudaErrorInvalidResourceHandle);
  launch(exec, stream.get());
  launch(exec, stream.get());
  CHECK(count == 6);
  CHECK(cudaEventElapsedTime(&ms, first.get(), last.get()) == cudaSuccess);
  CHECK(ms > 0);
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("an event takes another stream into the capture, and has to bring it back") {
  const auto origin = make_stream();
  const auto other = make_stream();
  int count = 0;
  const bool joins = GENERATE(true, false);
  begin(origin.get());
  add(origin.get(), count);
  wait(other.get(), origin.get());
  add(other.get(), count);
  if (joins) wait(origin.get(), other.get());
  add(origin.get(), count);
  cudaGraphExec_t exec = end(origin.get(), joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
  for (const cudaStream_t stream : {origin.get(), other.get()}) {
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);  // no part of it any more
  }
  CHECK(count == 0);
  if (!joins) return;
  launch(exec, origin.get());
  CHECK(count == 3);
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("what is forbidden in a capture fails and makes it invalid") {
  const auto stream = make_stream();
  const auto event = make_event();
  void* memory = nullptr;
  const std::vector<std::function<cudaError_t()>> calls = {
      [&] { return cudaMalloc(&memory, 4); }, [&] { return cudaStreamSynchronize(stream.get()); },
      [&] { return cudaEventSynchronize(event.get()); }, [&] { return cudaDeviceSynchronize(); },
      [&] { return cudaLaunchHostFunc(nullptr, add_one, nullptr); }};
  for (const auto& call : calls) {
    begin(stream.get());
    CHECK(call() == cudaErrorStreamCaptureUnsupported);
    CHECK(memory == nullptr);
    CHECK(cudaLaunchHostFunc(stream.get(), add_one, nullptr) == cudaErrorStreamCaptureInvalidated);
    end(stream.get(), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  }
  CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaErrorNotSupported);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("a capture forbids its own thread, not others, which may not touch its stream") {
  const auto stream = make_stream();
  const bool touches = GENERATE(false, true);
  begin(stream.get());
  std::thread([&] {
    CHECK(rueda::cuda::make_device_memory(4));
    if (touches) {
      CHECK(cudaStreamSynchronize(stream.get()) == cudaErrorStreamCaptureUnsupported);
    }
  }).join();
  cudaGraphExec_t exec =
      end(stream.get(), touches ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
  if (!touches) CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("a capture depends on nothing outside it") {
  const auto stream = make_stream();
  const auto other = make_stream();
  const auto event = make_event();
  CHECK(cudaEventRecord(event.get(), other.get()) == cudaSuccess);
  begin(stream.get());
  CHECK(cudaStreamWaitEvent(stream.get(), event.get(), 0) == cudaErrorStreamCaptureIsolation);
  end(stream.get(), cudaErrorStreamCaptureInvalidated);

  begin(stream.get());
  CHECK(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
  CHECK(cudaEventSynchronize(event.get()) == cudaErrorCapturedEvent);
  end(stream.get(), cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamWaitEvent(other.get(), event.get(), 0) == cudaErrorCapturedEvent);
  static_cast<void>(cudaGetLastError());
}
