#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rueda {

/// One GPU as this process sees it.
struct CudaDevice {
  int ordinal = 0;  ///< what cudaSetDevice takes
  std::string name;
  int capability_major = 0;  ///< compute capability, for example 9.0
  int capability_minor = 0;
  std::size_t memory_bytes = 0;
  std::string uuid;  ///< as nvidia-smi writes it: "GPU-8f2c...": the same in every process
};

/// All GPUs, or why there is none.
struct CudaDevices {
  std::vector<CudaDevice> devices;
  int driver_version = 0;  ///< newest CUDA that the driver supports, 1000 major + 10 minor; 0: none
  int runtime_version = 0;  ///< the CUDA that this program runs on, in the same form
  std::string reason;       ///< empty if there are devices, else one line for a person
};

/// Asks the driver. Neither a missing driver nor a missing device is an error; a device that is
/// there and does not answer is (RunError). Creates no context, so no GPU memory is used.
CudaDevices cuda_devices();

/// ("CUDA", "13.0") and, if it was built in, ("cuDNN", "9.1.0"), as the loaded libraries say.
std::vector<std::pair<std::string, std::string>> cuda_component_versions();

namespace cuda {

/// Makes device `ordinal` the current one of the calling thread and creates its context, so that
/// a later search for a context, such as MPI's at its initialisation, finds this one. Other
/// threads begin with device 0. Throws RunError.
void select_device(int ordinal);

/// "13.0" from 13000: CUDA's own numbering of driver and runtime.
std::string cuda_version_text(int version);
/// "9.19.0" from 91900: the numbering of cuDNN 9 and newer.
std::string cudnn_version_text(std::size_t version);
/// "GPU-" and 32 hexadecimal digits in groups, from the 16 bytes of a UUID.
std::string uuid_text(std::span<const unsigned char, 16> bytes);
/// Why no device can be used, with the remedy; `cuda_says` is CUDA's own description.
std::string no_device_reason(int driver_version, int runtime_version, const std::string& cuda_says);

}  // namespace cuda

}  // namespace rueda
