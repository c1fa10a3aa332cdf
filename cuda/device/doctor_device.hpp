#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "rueda/reduce/exchange_buffer.hpp"

namespace rueda {

/// Makes a device current for the calling thread and opens its context, which takes some hundred MB
/// of its memory; returns the bytes that are free then. Throws RunError if the device does not
/// answer. To be called before MPI is initialised.
std::size_t open_cuda_device(int ordinal);

/// Buffers of `floats` on the current device. Throws RunError if they do not fit.
std::unique_ptr<ExchangeBuffer> make_device_exchange_buffer(std::size_t floats);

/// cuDNN as the program was compiled against it and as the loader found it: "9.19.0".
struct CudnnVersions {
  std::string compiled;
  std::string loaded;
};

/// Nothing if the program was built without cuDNN.
std::optional<CudnnVersions> cudnn_versions();

}  // namespace rueda
