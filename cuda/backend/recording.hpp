#pragma once

#include <array>
#include <functional>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"
#include "rueda/backend/compute_clock.hpp"

namespace rueda::cuda {

using CudaGraph = Handle<cudaGraph_t, cudaGraphDestroy>;
using CudaGraphExec = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Work that is the same every time: done by its calls the first time, so that libraries load what
/// they need, recorded into a CUDA graph the second time, and replayed with one launch from then.
class Recording {
 public:
  void run(cudaStream_t stream, const std::function<void()>& work);

 private:
  bool has_run_ = false;
  CudaGraphExec graph_;
};

/// Moments on a stream, in recordings too.
class StreamMarks {
 public:
  StreamMarks();
  void set(Mark mark, cudaStream_t stream);
  /// Waits for the last mark.
  ComputeSeconds seconds() const;

 private:
  double between(Mark from, Mark to) const;
  std::array<Event, kMarks> events_;
};

}  // namespace rueda::cuda
