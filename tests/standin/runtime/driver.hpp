#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace rueda::standin {

using DriverAddress = unsigned long long;  // CUdeviceptr

/// What the driver that RUEDA_STANDIN_DRIVER names does: memory that other processes can map. Its
/// results are those of the runtime, which has the same numbers. Null without that variable.
struct Driver {
  int (*allocate)(DriverAddress*, std::size_t) = nullptr;
  int (*release)(DriverAddress) = nullptr;
  int (*export_block)(cudaIpcMemHandle_t*, DriverAddress) = nullptr;
  int (*import_block)(DriverAddress*, cudaIpcMemHandle_t, unsigned) = nullptr;
  int (*drop_import)(DriverAddress) = nullptr;
};

const Driver& driver();

}  // namespace rueda::standin
