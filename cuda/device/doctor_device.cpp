#include "doctor_device.hpp"

#include <cuda_runtime_api.h>
#if RUEDA_WITH_CUDNN
#include <cudnn_graph.h>

#include "device_query.hpp"
#endif

#include "handles.hpp"

namespace rueda {
namespace cuda {
namespace {

/// Plain cudaMalloc memory of the device that is current when it is made.
class DeviceExchangeBuffer final : public ExchangeBuffer {
 public:
  /// Throws RunError if the device has not enough memory.
  explicit DeviceExchangeBuffer(std::size_t floats)
      : floats_(floats),
        send_(make_device_memory(floats * sizeof(float))),
        receive_(make_device_memory(floats * sizeof(float))) {}

  std::span<float> send_side() override { return {static_cast<float*>(send_.get()), floats_}; }
  std::span<float> receive_side() override {
    return {static_cast<float*>(receive_.get()), floats_};
  }
  void upload(std::span<float> to, std::span<const float> host) override {
    copy(to.data(), host.data(), host.size_bytes());
  }
  void download(std::span<float> host, std::span<const float> from) override {
    copy(host.data(), from.data(), host.size_bytes());
  }

 private:
  /// A copy from pageable memory may return before the device has it, hence the synchronisation.
  static void copy(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  std::size_t floats_;
  DeviceMemory send_;
  DeviceMemory receive_;
};

}  // namespace
}  // namespace cuda

std::size_t open_cuda_device(int ordinal) {
  cuda::check(cudaSetDevice(ordinal), "cudaSetDevice");
  std::size_t free = 0;
  std::size_t total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

std::unique_ptr<ExchangeBuffer> make_device_exchange_buffer(std::size_t floats) {
  return std::make_unique<cuda::DeviceExchangeBuffer>(floats);
}

std::optional<CudnnVersions> cudnn_versions() {
#if RUEDA_WITH_CUDNN
  return CudnnVersions{cuda::cudnn_version_text(CUDNN_VERSION),
                       cuda::cudnn_version_text(cudnnGetVersion())};
#else
  return std::nullopt;
#endif
}

}  // namespace rueda
