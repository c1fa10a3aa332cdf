#include <algorithm>
#include <cstring>
#include <string>

#include "handle.hpp"
#include "refusal.hpp"
#include "tests/standin/runtime/device.hpp"

namespace {

thread_local std::string last_message;

}  // namespace

namespace rueda::standin {

void keep_message(const std::string& message) { last_message = "stand-in for cuDNN: " + message; }

}  // namespace rueda::standin

using rueda::standin::guarded;
using rueda::standin::require;

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetMaxDeviceVersion() { return CUDNN_MAX_DEVICE_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case 0:
      return "CUDNN_STATUS_SUCCESS";
    case 1000:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case 2000:
      return "CUDNN_STATUS_BAD_PARAM";
    case 3000:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case 4000:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    default:
      return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message == nullptr || max_size == 0) return;
  const std::size_t length = std::min(last_message.size(), max_size - 1);
  std::memcpy(message, last_message.data(), length);
  message[length] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return guarded([&] {
    require(handle != nullptr, "the handle is null", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    require(rueda::standin::device_count() > 0, "there is no device", CUDNN_STATUS_NOT_INITIALIZED);
    *handle = new cudnnContext;
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return guarded([&] {
    require(handle != nullptr, "the handle is null", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    handle->stream = stream;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return guarded([&] {
    require(handle != nullptr, "the handle is null", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    *stream = handle->stream;
  });
}

}  // extern "C"
