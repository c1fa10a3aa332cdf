#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "reduce/exchange_buffer.hpp"
#include "rueda/backend/device_monitor.hpp"

namespace rueda {

/// One GPU as this process sees it.
struct CudaDevice {
  int ordinal = 0;  ///< what cudaSetDevice takes
  std::string name;
  std::string uuid;  ///< as nvidia-smi writes it: "GPU-8f2c...": the same in every process
  std::size_t memory_bytes = 0;
};

/// All GPUs, or why there is none.
struct CudaDevices {
  std::vector<CudaDevice> visible;
  int driver_version = 0;  ///< newest CUDA that the driver supports, 1000 major + 10 minor; 0: none
  int runtime_version = 0;  ///< the CUDA that this program runs on, in the same form
  std::string reason;       ///< empty if there are devices, else one line for a person
};

/// Asks the driver. Neither a missing driver nor a missing device is an error;
/// a device that is there and does not answer is (RunError). Creates no
/// context, so no GPU memory is used.
CudaDevices cuda_devices();

/// Makes device `ordinal` the current one of the calling thread and opens its
/// context, which takes some hundred MB of its memory, so that a later search
/// for a context, such as MPI's at its initialisation, finds this one; returns
/// the bytes that are free then. Other threads begin with device 0. Throws
/// RunError if the device does not answer. To be called before MPI is
/// initialised.
std::size_t open_cuda_device(int ordinal);

/// Bytes of the current device's memory that are free. Throws RunError.
std::size_t free_cuda_memory();

/// Buffers of `floats` on the current device. Throws RunError if they do not fit.
std::unique_ptr<ExchangeBuffer> make_device_exchange_buffer(std::size_t floats);

/// ("CUDA", "13.0") and, if it was built in, ("cuDNN", "9.1.0"), as the loaded libraries say.
Versions cuda_component_versions();

/// cuDNN as the program was compiled against it and as the loader found it: "9.19.0".
struct CudnnVersions {
  std::string compiled;
  std::string loaded;
};

/// Nothing if the program was built without cuDNN.
std::optional<CudnnVersions> cudnn_versions();

/// The monitor of the GPU with this UUID ("GPU-8f2c..."), by NVIDIA's
/// management library, which is looked for at run time only. By its UUID,
/// because the library counts all GPUs of the machine, whatever
/// CUDA_VISIBLE_DEVICES says. Null where there is no such library or GPU.
std::unique_ptr<DeviceMonitor> open_nvml(const std::string& uuid);

namespace cuda {

/// "13.0" from 13000: CUDA's own numbering of driver and runtime.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}
/// "9.19.0" from 91900: the numbering of cuDNN 9 and newer.
std::string cudnn_version_text(std::size_t version);
/// "GPU-" and 32 hexadecimal digits in groups, from the 16 bytes of a UUID.
std::string uuid_text(std::span<const unsigned char, 16> bytes);
/// Why no device can be used, with the remedy; `cuda_says` is CUDA's own description.
std::string no_device_reason(int driver_version, int runtime_version, const std::string& cuda_says);

}  // namespace cuda

}  // namespace rueda
