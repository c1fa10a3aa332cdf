// A stand-in for NVIDIA's driver library, libcuda.so.1: as much of it as a CUDA-aware Open MPI 4.1
// opens, over "device" memory that is shared host memory. Open MPI then takes its real CUDA paths.
//
// RUEDA_DRIVER_FAULT makes CUDA IPC fail as it does on real systems, with the codes that are seen
// there:
//   open-fails    another process's memory cannot be opened (containers, GPUs hidden by Slurm)
//   no-peer       the devices do not reach each other, so each rank has another device
//   pool-memory   the memory cannot be exported (cudaMallocAsync)
// RUEDA_DRIVER_COUNTERS=FOLDER writes what was copied (Counters).
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <cuda.h>
#include <unistd.h>

#include "memory.hpp"

namespace {

using rueda::standin::DeviceMemory;

/// What was copied from where to where. Written by the destructor to the folder that
/// RUEDA_DRIVER_COUNTERS names: a file for each process that copied, "NAME COUNT BYTES" in each
/// line.
class Counters {
 public:
  Counters() = default;
  ~Counters() {
    const char* folder = std::getenv("RUEDA_DRIVER_COUNTERS");
    if (folder == nullptr) return;
    std::ofstream file(std::string(folder) + "/" + std::to_string(getpid()));
    const auto write = [&](const char* name, const Tally& tally) {
      file << name << ' ' << tally.count << ' ' << tally.bytes << '\n';
    };
    write("device_to_device", device_to_device_);
    write("device_to_host", device_to_host_);
    write("host_to_device", host_to_device_);
    write("opened", opened_);
  }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void count_copy(bool to_device, bool from_device, std::size_t bytes) {
    if (from_device) {
      (to_device ? device_to_device_ : device_to_host_).add(bytes);
    } else if (to_device) {
      host_to_device_.add(bytes);
    }
  }
  void count_opened(std::size_t bytes) { opened_.add(bytes); }

 private:
  struct Tally {
    void add(std::size_t more) { ++count, bytes += more; }
    std::atomic<std::uint64_t> count = 0;
    std::atomic<std::uint64_t> bytes = 0;
  };

  Tally device_to_device_;
  Tally device_to_host_;
  Tally host_to_device_;
  Tally opened_;  // blocks of other processes
};

Counters counters;
DeviceMemory memory;

bool fault(std::string_view name) {
  const char* set = std::getenv("RUEDA_DRIVER_FAULT");
  return set != nullptr && name == set;
}

void* address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }
CUdeviceptr device_pointer(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
bool on_device(CUdeviceptr pointer) { return memory.find(address(pointer)).has_value(); }

/// Any pointer that is not null, for what is never looked into.
template <typename Handle>
Handle some() {
  return reinterpret_cast<Handle>(std::uintptr_t{1});
}

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  counters.count_copy(on_device(to), on_device(from), bytes);
  std::memmove(address(to), address(from), bytes);
  return CUDA_SUCCESS;
}

/// Open MPI asks for the kind of memory, its context, and whether it is managed (it never is).
void put_attribute(void* data, CUpointer_attribute attribute, bool device) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) = device ? CU_MEMORYTYPE_DEVICE : 0;
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) = device ? some<CUcontext>() : nullptr;
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(data) = 0;
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  *pointer = device_pointer(memory.allocate(bytes));
  return *pointer != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree(CUdeviceptr pointer) {
  return memory.release(address(pointer)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return copy(to, from, bytes); }

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  return copy(to, from, bytes);
}

CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr pointer) {
  const auto block = memory.find(address(pointer));
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  *begin = device_pointer(block->begin);
  *bytes = block->bytes;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (!on_device(pointer)) return CUDA_ERROR_INVALID_VALUE;
  put_attribute(data, attribute, true);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  const bool device = on_device(pointer);
  for (unsigned i = 0; i < count; ++i) put_attribute(data[i], attributes[i], device);
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr pointer) {
  return on_device(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr pointer) {
  const auto block = memory.find(address(pointer));
  if (!block || fault("pool-memory")) return CUDA_ERROR_INVALID_VALUE;
  const DeviceMemory::Handle own = block->handle();
  static_assert(sizeof(own) <= sizeof(*handle));
  std::memcpy(handle, &own, sizeof(own));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned) {
  if (fault("open-fails")) return CUDA_ERROR_INVALID_VALUE;
  if (fault("no-peer")) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  DeviceMemory::Handle theirs{};
  std::memcpy(&theirs, &handle, sizeof(theirs));
  *pointer = device_pointer(memory.open(theirs));
  if (*pointer == 0) return CUDA_ERROR_INVALID_VALUE;
  counters.count_opened(theirs.bytes);
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer) { return cuMemFree(pointer); }

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent) {
  *handle = {};
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle) {
  *event = some<CUevent>();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = some<CUcontext>();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

/// One device for all ranks; with no-peer, one for each.
CUresult cuCtxGetDevice(CUdevice* device) {
  const char* rank = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  *device = fault("no-peer") && rank != nullptr ? std::atoi(rank) : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = fault("no-peer") ? 0 : 1;
  return CUDA_SUCCESS;
}

// All work is done when a call returns, so streams and events have nothing to do.
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = some<CUstream>();
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return CUDA_SUCCESS; }
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = some<CUevent>();
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult cuEventQuery(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
CUresult cuMemHostRegister(void*, size_t, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemHostUnregister(void*) { return CUDA_SUCCESS; }

}  // extern "C"
