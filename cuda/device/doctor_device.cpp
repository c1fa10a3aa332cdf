#include "doctor_device.hpp"

#include <cuda_runtime_api.h>
#if RUEDA_WITH_CUDNN
#include <cudnn_graph.h>

#include "device_query.hpp"
#endif

#include "device_exchange_buffer.hpp"

namespace rueda {

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
