#include "device.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "error.hpp"
#include "settings.hpp"

namespace rueda::standin {
namespace {

constexpr char kName[] = "stand-in (host memory, no GPU)";
constexpr int kMultiprocessors = 132;

thread_local int chosen_device = 0;

/// Ordinals among all devices of the machine; as in CUDA, a wrong one ends the list.
std::vector<int> listed(const std::string& text, int all) {
  std::vector<int> result;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) break;
    const int ordinal = std::stoi(word);
    if (ordinal >= all) break;
    result.push_back(ordinal);
  }
  return result;
}

std::vector<int> find_visible() {
  const int all = static_cast<int>(setting("RUEDA_STANDIN_DEVICES", 1));
  if (const char* text = std::getenv("CUDA_VISIBLE_DEVICES")) return listed(text, all);
  std::vector<int> result;
  for (int i = 0; i < all; ++i) result.push_back(i);
  return result;
}

const std::vector<int>& visible() {
  static const auto& it = *new std::vector<int>(find_visible());
  return it;
}

int physical(int device) { return visible()[static_cast<std::size_t>(device)]; }

bool exists(int device) { return device >= 0 && device < device_count(); }

cudaDeviceProp describe(int device) {
  cudaDeviceProp properties{};
  std::memcpy(properties.name, kName, sizeof kName);
  std::memcpy(properties.uuid.bytes, "rueda stand-in", 14);
  properties.uuid.bytes[15] = static_cast<char>(physical(device));
  properties.totalGlobalMem = device_bytes();
  properties.major = 9;
  properties.multiProcessorCount = kMultiprocessors;
  properties.warpSize = 32;
  properties.maxThreadsPerBlock = 1024;
  properties.sharedMemPerBlock = 48 * 1024;
  properties.canMapHostMemory = 1;
  properties.unifiedAddressing = 1;
  properties.concurrentKernels = 1;
  properties.asyncEngineCount = 2;
  properties.pciBusID = physical(device) + 1;
  return properties;
}

int attribute(cudaDeviceAttr which) {
  switch (which) {
    case cudaDevAttrComputeCapabilityMajor:
      return 9;
    case cudaDevAttrMultiProcessorCount:
      return kMultiprocessors;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMaxThreadsPerBlock:
      return 1024;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

int device_count() { return static_cast<int>(visible().size()); }

int current_device() { return chosen_device; }

std::size_t device_bytes() {
  static const std::size_t bytes = setting("RUEDA_STANDIN_MEMORY", std::size_t{8} << 30);
  return bytes;
}

}  // namespace rueda::standin

namespace standin = rueda::standin;
using standin::note;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = standin::device_count();
  return note(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaSetDevice(int device) {
  if (!standin::exists(device)) return note(cudaErrorInvalidDevice);
  standin::chosen_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (standin::device_count() == 0) return note(cudaErrorNoDevice);
  *device = standin::chosen_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!standin::exists(device)) return note(cudaErrorInvalidDevice);
  *properties = standin::describe(device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  if (!standin::exists(device)) return note(cudaErrorInvalidDevice);
  *value = standin::attribute(which);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!standin::exists(device)) return note(cudaErrorInvalidDevice);
  if (length < 13) return note(cudaErrorInvalidValue);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                static_cast<unsigned>(standin::physical(device) + 1) & 0xFFU);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!standin::exists(device) || !standin::exists(peer)) return note(cudaErrorInvalidDevice);
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}

}  // extern "C"
