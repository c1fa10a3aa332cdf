#include "cuda/device/handles.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <cxxabi.h>
#include <fmt/format.h>

#include "base/error.hpp"
#include "cuda/kernels/kernels.hpp"

namespace rueda::cuda {
namespace {

/// Without the folders that only the building machine has.
std::string_view file_of(const std::source_location& place) {
  const std::string_view file = place.file_name();
  return file.substr(file.find_last_of('/') + 1);
}

const char* remedy_for(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "; lower --batch-per-rank, give --on-oom halve, or end what else uses the GPU (see "
             "nvidia-smi); a run that is resumed keeps its batch: give it more ranks";
    case cudaErrorNoKernelImageForDevice:
      return "; build with this GPU's compute capability in -Dgpu_archs";
    default:
      return "";
  }
}

}  // namespace

void check(cudaError_t code, const char* call, std::source_location place) {
  if (code == cudaSuccess) return;
  const std::string message =
      fmt::format("{} failed: {} ({}, at {}:{}){}", call, cudaGetErrorString(code),
                  cudaGetErrorName(code), file_of(place), place.line(), remedy_for(code));
  if (code != cudaErrorMemoryAllocation) throw RunError(message);
  // CUDA keeps it as its last error, where the check of a later launch would find it.
  static_cast<void>(cudaGetLastError());
  throw OutOfMemory(message);
}

bool switched_on(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return true;
  const std::string_view wanted = value;
  require(wanted == "on" || wanted == "off",
          fmt::format("{}={}: give on or off, or unset it", variable, wanted));
  return wanted == "on";
}

bool begins_early(const void* kernel) {
  // All kernels are compiled alike, and a process has one kind of GPU.
  static const bool early = [kernel] {
    constexpr int kWaits = 90;             // in PTX for 9.0 the kernels wait
    constexpr int kDriverRecords = 12030;  // into graphs, since CUDA 12.3
    if (!switched_on("RUEDA_CUDA_PDL")) return false;
    cudaFuncAttributes code{};
    check(cudaFuncGetAttributes(&code, kernel), "cudaFuncGetAttributes");
    int driver = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    return code.ptxVersion >= kWaits && driver >= kDriverRecords;
  }();
  return early;
}

void throw_launch_error(cudaError_t code, const std::type_info& kernel) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(kernel.name(), nullptr, nullptr, &status), &std::free);
  throw RunError(fmt::format("the launch of a kernel failed: {} ({}, {}){}",
                             cudaGetErrorString(code), cudaGetErrorName(code),
                             name ? name.get() : kernel.name(), remedy_for(code)));
}

}  // namespace rueda::cuda
