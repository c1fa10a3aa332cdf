#include "recording.hpp"

namespace rueda::cuda {
namespace {

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

/// Records what `work` queues on `stream`. If it throws, the recording is ended and dropped first.
CudaGraph record(cudaStream_t stream, const std::function<void()>& work) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t raw = nullptr;
  try {
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &raw));
    const CudaGraph dropped(raw);
    throw;
  }
  check(cudaStreamEndCapture(stream, &raw), "cudaStreamEndCapture");
  return CudaGraph(raw);
}

}  // namespace

void Recording::run(cudaStream_t stream, const std::function<void()>& work) {
  if (!has_run_) {
    work();
    has_run_ = true;
    return;
  }
  if (!graph_) {
    const CudaGraph graph = record(stream, work);
    cudaGraphExec_t raw = nullptr;
    check(cudaGraphInstantiate(&raw, graph.get(), 0), "cudaGraphInstantiate");
    graph_ = CudaGraphExec(raw);
  }
  check(cudaGraphLaunch(graph_.get(), stream), "cudaGraphLaunch");
}

StreamMarks::StreamMarks() {
  for (Event& event : events_) event = make_timing_event();
}

void StreamMarks::set(Mark mark, cudaStream_t stream) {
  // External: a node of the recording, not an order within it.
  const unsigned flags = is_capturing(stream) ? cudaEventRecordExternal : cudaEventRecordDefault;
  check(cudaEventRecordWithFlags(events_[static_cast<std::size_t>(mark)].get(), stream, flags),
        "cudaEventRecordWithFlags");
}

double StreamMarks::between(Mark from, Mark to) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events_[static_cast<std::size_t>(from)].get(),
                             events_[static_cast<std::size_t>(to)].get()),
        "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) / 1000;
}

ComputeSeconds StreamMarks::seconds() const {
  check(cudaEventSynchronize(events_[static_cast<std::size_t>(Mark::end)].get()),
        "cudaEventSynchronize");
  return {between(Mark::load, Mark::forward), between(Mark::forward, Mark::loss),
          between(Mark::loss, Mark::backward), between(Mark::backward, Mark::end)};
}

}  // namespace rueda::cuda
