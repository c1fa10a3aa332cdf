#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "runtime.hpp"

namespace rueda::standin {
namespace {

constexpr char kName[] = "stand-in (host memory, no GPU)";
constexpr int kMultiprocessors = 132;

thread_local int chosen_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

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
  const int all = int(setting("RUEDA_STANDIN_DEVICES", 1));
  if (const char* text = std::getenv("CUDA_VISIBLE_DEVICES")) return listed(text, all);
  std::vector<int> result;
  for (int i = 0; i < all; ++i) result.push_back(i);
  return result;
}

const std::vector<int>& visible() {
  static const auto& it = *new std::vector<int>(find_visible());
  return it;
}

int physical(int device) { return visible()[std::size_t(device)]; }

bool exists(int device) { return device >= 0 && device < device_count(); }

cudaDeviceProp describe(int device) {
  cudaDeviceProp properties{};
  const char* name = std::getenv("RUEDA_STANDIN_NAME");
  std::strncpy(properties.name, name == nullptr ? kName : name, sizeof properties.name - 1);
  std::memcpy(properties.uuid.bytes, "rueda stand-in", 14);
  properties.uuid.bytes[15] = char(physical(device));
  properties.totalGlobalMem = device_bytes();
  properties.major = 9;
  properties.multiProcessorCount = kMultiprocessors;
  properties.pciBusID = physical(device) + 1;
  return properties;
}

std::size_t mean_delay() {
  static const std::size_t mean = setting("RUEDA_STANDIN_DELAY_US", 0);
  return mean;
}

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

// Those that the stand-in gives.
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no kernel image"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported", "no access to the peer"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "not while capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", "capture has failed"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge", "two captures"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "another stream"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation", "work from outside"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread", "another thread"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent", "event of a capture"},
};

const ErrorText& error_text(cudaError_t code) {
  static constexpr ErrorText unknown = {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return error;
  }
  return unknown;
}

}  // namespace

std::size_t setting(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text < '0' || *text > '9') return otherwise;
  return std::stoull(text);
}

bool has_delays() { return mean_delay() != 0; }

void before_item() {
  if (!has_delays()) return;
  static std::atomic<std::size_t> items{0};
  static const std::size_t seed = setting("RUEDA_STANDIN_SEED", 1);
  const std::size_t us = mean_delay() / 2 + random_bits(seed, items++) % (mean_delay() + 1);
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

void copy_slowly(void* to, const void* from, std::size_t bytes) {
  static const std::size_t us = setting("RUEDA_STANDIN_COPY_US", 0);
  const bool at_once = us == 0 || is_device_address(to) == is_device_address(from);
  const std::size_t half = at_once ? bytes : bytes / 2;
  std::memcpy(to, from, half);
  if (at_once) return;
  std::this_thread::sleep_for(std::chrono::microseconds(us));
  std::memcpy(static_cast<std::byte*>(to) + half, static_cast<const std::byte*>(from) + half,
              bytes - half);
}

cudaError_t note(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

int device_count() { return int(visible().size()); }

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

cudaError_t cudaGetLastError() { return std::exchange(standin::last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t code) { return standin::error_text(code).name; }
const char* cudaGetErrorString(cudaError_t code) { return standin::error_text(code).text; }

}  // extern "C"
