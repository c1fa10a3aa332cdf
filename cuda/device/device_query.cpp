#include "device_query.hpp"

#include <cuda_runtime_api.h>
#if RUEDA_WITH_CUDNN
#include <cudnn_graph.h>
#endif

#include "handles.hpp"

namespace rueda {
namespace cuda {
namespace {

CudaDevice describe(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  unsigned char uuid[16];
  static_assert(sizeof properties.uuid.bytes == sizeof uuid);
  for (std::size_t i = 0; i < sizeof uuid; ++i) {
    uuid[i] = static_cast<unsigned char>(properties.uuid.bytes[i]);
  }
  return {ordinal,          properties.name,           properties.major,
          properties.minor, properties.totalGlobalMem, uuid_text(uuid)};
}

/// CUDA keeps a failed count as its last error, where a later check would find it.
cudaError_t count_devices(int& count) {
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    count = 0;
    static_cast<void>(cudaGetLastError());
  }
  return code;
}

}  // namespace

void select_device(int ordinal) {
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // does nothing but what every first call does
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string cudnn_version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

std::string uuid_text(std::span<const unsigned char, 16> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
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

CudaDevices cuda_devices() {
  CudaDevices result;
  cuda::check(cudaRuntimeGetVersion(&result.runtime_version), "cudaRuntimeGetVersion");
  if (cudaDriverGetVersion(&result.driver_version) != cudaSuccess) result.driver_version = 0;
  int count = 0;
  const cudaError_t code = cuda::count_devices(count);
  for (int i = 0; i < count; ++i) result.devices.push_back(cuda::describe(i));
  if (count == 0) {
    result.reason = cuda::no_device_reason(result.driver_version, result.runtime_version,
                                           cudaGetErrorString(code));
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> cuda_component_versions() {
  int runtime = 0;
  cuda::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::vector<std::pair<std::string, std::string>> versions = {
      {"CUDA", cuda::cuda_version_text(runtime)}};
#if RUEDA_WITH_CUDNN
  versions.emplace_back("cuDNN", cuda::cudnn_version_text(cudnnGetVersion()));
#endif
  return versions;
}

}  // namespace rueda
