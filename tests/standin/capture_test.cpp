#include <vector>

#include <catch2/catch.hpp>

#include "cuda/device/handles.hpp"
#include "gate.hpp"
#include "happens.hpp"
#include "standin.hpp"
#include "tests/standin/runtime/graph.hpp"

// What a capture records, what it refuses, and what a graph does.

namespace {

using rueda::cuda::make_event;
using rueda::cuda::make_stream;
using rueda::test::happens;
using rueda::test::kMoment;
using Numbers = std::vector<int>;

void add_one(void* number) { ++*static_cast<int*>(number); }
void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  CHECK(cudaStreamBeginCapture(stream, mode) == cudaSuccess);
}

void add(cudaStream_t stream, int& number) {
  CHECK(cudaLaunchHostFunc(stream, add_one, &number) == cudaSuccess);
}

/// Ends the capture, expecting `code`, and gives the graph back that it may have made.
cudaGraph_t end(cudaStream_t stream, cudaError_t code = cudaSuccess) {
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == code);
  CHECK((graph != nullptr) == (code == cudaSuccess));
  static_cast<void>(cudaGetLastError());
  return graph;
}

std::size_t count_nodes(cudaGraph_t graph) {
  std::size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess);
  return count;
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
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

TEST_CASE("captured work is done when the graph is launched, each time") {
  const auto stream = make_stream();
  int count = 0;
  begin(stream.get());
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK(cudaStreamIsCapturing(stream.get(), &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  for (int i = 0; i < 3; ++i) add(stream.get(), count);
  cudaGraph_t graph = end(stream.get());
  CHECK(count_nodes(graph) == 3);
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(count == 0);
  cudaGraphExec_t exec = instantiate(graph);
  launch(exec, stream.get());
  launch(exec, stream.get());
  CHECK(count == 6);
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
  cudaGraph_t graph = end(origin.get(), joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
  for (const cudaStream_t stream : {origin.get(), other.get()}) {
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);  // no part of it any more
  }
  CHECK(count == 0);
  if (!joins) return;
  cudaGraphExec_t exec = instantiate(graph);
  launch(exec, origin.get());
  CHECK(count == 3);
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("what is forbidden in a capture fails and makes it invalid") {
  const auto stream = make_stream();
  const auto event = make_event();
  const auto mode = GENERATE(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal);
  const int call = GENERATE(0, 1, 2, 3, 4, 5, 6);
  CAPTURE(mode, call);
  void* memory = nullptr;
  begin(stream.get(), mode);
  const cudaError_t code = call == 0   ? cudaMalloc(&memory, 4)
                           : call == 1 ? cudaStreamSynchronize(stream.get())
                           : call == 2 ? cudaStreamQuery(stream.get())
                           : call == 3 ? cudaEventSynchronize(event.get())
                           : call == 4 ? cudaEventQuery(event.get())
                           : call == 5 ? cudaDeviceSynchronize()
                                       : cudaLaunchHostFunc(nullptr, add_one, nullptr);
  CHECK(code == cudaErrorStreamCaptureUnsupported);
  CHECK(memory == nullptr);
  CHECK(cudaLaunchHostFunc(stream.get(), add_one, nullptr) == cudaErrorStreamCaptureInvalidated);
  end(stream.get(), cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
}

TEST_CASE("a relaxed capture allows what does not touch it") {
  const auto stream = make_stream();
  const auto other = make_stream();
  const auto event = make_event();
  begin(stream.get(), cudaStreamCaptureModeRelaxed);
  CHECK(rueda::cuda::make_device_memory(4));
  CHECK(cudaEventQuery(event.get()) == cudaSuccess);
  CHECK(cudaStreamSynchronize(other.get()) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream.get()) == cudaErrorStreamCaptureUnsupported);
  end(stream.get(), cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("another thread's global capture forbids, its own does not") {
  const auto stream = make_stream();
  const bool global = GENERATE(true, false);
  begin(stream.get(), global ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal);
  const cudaError_t code =
      std::async(std::launch::async, [] { return cudaEventQuery(make_event().get()); }).get();
  CHECK(code == (global ? cudaErrorStreamCaptureUnsupported : cudaSuccess));
  const auto graph = end(stream.get(), global ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
  if (!global) CHECK(cudaGraphDestroy(graph) == cudaSuccess);
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
  CHECK(cudaEventQuery(event.get()) == cudaErrorCapturedEvent);
  end(stream.get(), cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamWaitEvent(other.get(), event.get(), 0) == cudaErrorCapturedEvent);
}

TEST_CASE("external events are recorded and waited for by the graph") {
  const auto stream = make_stream();
  const auto producer = make_stream();
  const auto ready = make_event();
  const auto done = make_event();
  int count = 0;
  begin(stream.get());
  CHECK(cudaStreamWaitEvent(stream.get(), ready.get(), cudaEventWaitExternal) == cudaSuccess);
  add(stream.get(), count);
  CHECK(cudaEventRecordWithFlags(done.get(), stream.get(), cudaEventRecordExternal) == cudaSuccess);
  cudaGraphExec_t exec = instantiate(end(stream.get()));
  rueda::test::Gate gate(producer.get());
  CHECK(cudaEventRecord(ready.get(), producer.get()) == cudaSuccess);
  CHECK(cudaGraphLaunch(exec, stream.get()) == cudaSuccess);
  CHECK_FALSE(happens([&] { return cudaEventQuery(done.get()) == cudaSuccess; }, kMoment));
  CHECK(count == 0);
  gate.open();
  CHECK(cudaEventSynchronize(done.get()) == cudaSuccess);
  CHECK(count == 1);
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("another order keeps every dependency and no more") {
  std::vector<rueda::standin::Node> nodes(40);
  Numbers done;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].prepare = [&done, i] { return [&done, i] { done.push_back(static_cast<int>(i)); }; };
    if (i >= 2) nodes[i].after = {i - 2};  // two chains
  }
  for (const auto& node : rueda::standin::in_order(nodes, true)) node.prepare()();
  CHECK(done.size() == nodes.size());
  CHECK_FALSE(std::is_sorted(done.begin(), done.end()));
  for (const int parity : {0, 1}) {
    Numbers chain;
    for (const int i : done) {
      if (i % 2 == parity) chain.push_back(i);
    }
    CHECK(std::is_sorted(chain.begin(), chain.end()));
  }
}
