#pragma once

#include <array>
#include <functional>

#include <cuda_runtime_api.h>

#include "base/clock.hpp"
#include "cuda/device/cuda_graph.hpp"
#include "cuda/device/handles.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda::cuda {

/// Work that is the same every time: done by its calls the first time, so that
/// libraries load what they need, recorded into a CUDA graph the second time,
/// and replayed with one launch from then.
class Recording {
 public:
  void run(cudaStream_t stream, const std::function<void()>& work) {
    if (!has_run_) {
      work();
      has_run_ = true;
      return;
    }
    if (!graph_) graph_ = instantiate(record_graph(stream, work));
    check(cudaGraphLaunch(graph_.get(), stream), "cudaGraphLaunch");
  }

 private:
  bool has_run_ = false;
  CudaGraphExec graph_;
};

/// Moments on a stream, in recordings too.
class StreamMarks {
 public:
  StreamMarks() {
    for (Event& event : events_) event = make_timing_event();
  }

  void set(Mark mark, cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    // External: a node of the recording, not an order within it.
    const unsigned flags =
        status == cudaStreamCaptureStatusNone ? cudaEventRecordDefault : cudaEventRecordExternal;
    check(cudaEventRecordWithFlags(at(mark), stream, flags), "cudaEventRecordWithFlags");
  }

  /// All marks up to now are queued on `stream`. CUDA does not promise that the
  /// host, waiting for an event inside a recording, waits for the launch that
  /// it has just made; hence this one.
  void close(cudaStream_t stream) {
    check(cudaEventRecord(closed_.get(), stream), "cudaEventRecord");
  }

  /// Waits for the marks of the last `close`.
  ComputeSeconds seconds() const {
    check(cudaEventSynchronize(closed_.get()), "cudaEventSynchronize");
    return {between(Mark::load, Mark::forward), between(Mark::forward, Mark::loss),
            between(Mark::loss, Mark::backward), between(Mark::backward, Mark::end)};
  }

 private:
  cudaEvent_t at(Mark mark) const { return events_[std::size_t(mark)].get(); }
  double between(Mark from, Mark to) const { return seconds_between(at(from), at(to)); }

  std::array<Event, kMarks> events_;
  Event closed_ = make_event();
};

}  // namespace rueda::cuda
