#include "cuda/device/device_query.hpp"

#include <array>
#include <bit>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#if RUEDA_WITH_CUDNN
#include <cudnn_graph.h>
#endif

#include "cuda/device/handles.hpp"

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
  /// A copy from pageable memory may return before the device has it, hence the synchronisation.
  void copy(std::span<float> to, std::span<const float> from) override {
    check(cudaMemcpy(to.data(), from.data(), from.size_bytes(), cudaMemcpyDefault), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

 private:
  std::size_t floats_;
  DeviceMemory send_;
  DeviceMemory receive_;
};

}  // namespace

std::string cudnn_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string uuid_text(std::span<const unsigned char, 16> bytes) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::string no_device_reason(int driver_version, int runtime_version,
                             const std::string& cuda_says) {
  if (driver_version == 0) {
    return "no CUDA driver (libcuda.so.1 could not be loaded); install NVIDIA's driver, in a "
           "container pass it in";
  }
  const std::string driver = "the CUDA driver (for CUDA " + cuda_version_text(driver_version) + ")";
  if (driver_version / 1000 < runtime_version / 1000) {
    return driver + " is too old for this program, which was built with CUDA " +
           cuda_version_text(runtime_version) + "; update it, or build with an older CUDA";
  }
  return driver + " offers no device: " + cuda_says +
         "; look at nvidia-smi and CUDA_VISIBLE_DEVICES";
}

}  // namespace cuda

using cuda::check;

CudaDevices cuda_devices() {
  CudaDevices result;
  check(cudaRuntimeGetVersion(&result.runtime_version), "cudaRuntimeGetVersion");
  if (cudaDriverGetVersion(&result.driver_version) != cudaSuccess) result.driver_version = 0;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  // CUDA keeps a failed count as its last error, where a later check would find it.
  if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
  for (int i = 0; code == cudaSuccess && i < count; ++i) {
    const cudaDeviceProp properties = cuda::properties_of(i);
    const auto uuid = std::bit_cast<std::array<unsigned char, 16>>(properties.uuid);
    result.visible.push_back(
        {i, properties.name, cuda::uuid_text(uuid), properties.totalGlobalMem});
  }
  if (result.visible.empty()) {
    result.reason = cuda::no_device_reason(result.driver_version, result.runtime_version,
                                           cudaGetErrorString(code));
  }
  return result;
}

std::size_t open_cuda_device(int ordinal) {
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // does nothing but what every first call does
  return free_cuda_memory();
}

std::size_t free_cuda_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

std::unique_ptr<ExchangeBuffer> make_device_exchange_buffer(std::size_t floats) {
  return std::make_unique<cuda::DeviceExchangeBuffer>(floats);
}

Versions cuda_component_versions() {
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  Versions versions = {{"CUDA", cuda::cuda_version_text(runtime)}};
  if (const auto cudnn = cudnn_versions()) versions.emplace_back("cuDNN", cudnn->loaded);
  return versions;
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
