#include <algorithm>

#include "capture.hpp"
#include "device.hpp"
#include "error.hpp"
#include "stream.hpp"

namespace standin = rueda::standin;
using standin::note;

namespace {

/// Refuses what would wait for, or ask about, a stream that is being captured.
cudaError_t forbid_for(const standin::Stream& stream) {
  if (const auto capture = standin::capture_of(stream)) {
    capture->valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  return standin::forbid_in_capture();
}

struct Found {
  standin::Stream* stream;
  cudaError_t code;
};

Found find_uncaptured(cudaStream_t handle) {
  standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr) return {nullptr, cudaErrorInvalidResourceHandle};
  return {stream, forbid_for(*stream)};
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  if (standin::device_count() == 0) return note(cudaErrorNoDevice);
  if ((flags & ~unsigned{cudaStreamNonBlocking}) != 0) return note(cudaErrorInvalidValue);
  const std::lock_guard lock(standin::order_mutex());
  *stream = new CUstream_st(standin::current_device(), (flags & cudaStreamNonBlocking) == 0);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const std::lock_guard lock(standin::order_mutex());
  standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr || standin::is_legacy(*stream)) {
    return note(cudaErrorInvalidResourceHandle);
  }
  if (const auto capture = standin::capture_of(*stream)) {
    capture->valid = false;
    capture->frontier.erase(stream);
  }
  delete handle;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  std::shared_ptr<standin::Mark> end;
  {
    const std::lock_guard lock(standin::order_mutex());
    const auto [stream, code] = find_uncaptured(handle);
    if (code != cudaSuccess) return note(code);
    end = stream->push_mark();
  }
  end->wait();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const std::lock_guard lock(standin::order_mutex());
  const auto [stream, code] = find_uncaptured(handle);
  if (code != cudaSuccess) return note(code);
  return note(stream->idle() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  const standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  *device = stream->device();
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  const standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
  *flags = stream->blocking() ? cudaStreamDefault : cudaStreamNonBlocking;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  {
    const std::lock_guard lock(standin::order_mutex());
    const cudaError_t code = standin::forbid_in_capture();
    if (code != cudaSuccess) return note(code);
  }
  standin::synchronize_device(standin::current_device());
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return note(standin::submit(
      stream, [=] { function(data); }, cudaGraphNodeTypeHost));
}

}  // extern "C"
