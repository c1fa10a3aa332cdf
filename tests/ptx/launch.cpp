#include "launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/standin/runtime/runtime.hpp"

namespace rueda::ptx {
namespace {

std::optional<Range> find_memory(std::uintptr_t address) {
  const auto block = standin::MemoryMap::instance().find(reinterpret_cast<const void*>(address));
  if (!block) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(block->begin);
  return Range{begin, begin + block->bytes};
}

struct Loaded {
  Kernel kernel;
  std::vector<bool> executed;
  int target = 0;  ///< of the PTX: 90 for 9.0
  std::uint64_t launches = 0;
  std::uint64_t instructions = 0;
};

/// All kernels of the program. Registration is before main and in one thread.
struct Library {
  std::mutex mutex;
  std::map<std::string, Loaded, std::less<>> kernels;
  std::map<const void*, Loaded*> by_function;
  std::vector<Finding> findings;
  bool are_taken = false;
  Settings settings{.seed = standin::setting("RUEDA_PTX_SEED", 1), .find_memory = find_memory};
};

Library& library() {
  static auto& it = *new Library;
  return it;
}

[[noreturn]] void end_with(const std::string& why) {
  std::fprintf(stderr, "stand-in: %s\n", why.c_str());
  std::abort();
}

template <typename T>
T number_at(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The PTX among what __cudaRegisterFatBinary gets: a wrapper of two numbers and a pointer to a
/// header, which has its own size at byte 6 and that of all entries at byte 8. An entry has its
/// kind at byte 0 (1 is PTX), the size of its own header at byte 4 and of the rest at byte 8. The
/// text ends with a zero.
std::string_view text_of(const void* wrapper) {
  constexpr std::uint16_t kPtx = 1;
  const char* at = number_at<const char*>(static_cast<const char*>(wrapper) + 8);
  const char* end = at + number_at<std::uint16_t>(at + 6) + number_at<std::uint64_t>(at + 8);
  at += number_at<std::uint16_t>(at + 6);
  while (at < end) {
    const char* body = at + number_at<std::uint32_t>(at + 4);
    const auto size = number_at<std::uint64_t>(at + 8);
    const std::string_view text(body, size);
    const bool is_ptx = number_at<std::uint16_t>(at) == kPtx;
    if (is_ptx && text.find(".version ") != std::string_view::npos)
      return text.substr(0, text.find('\0'));
    at = body + size;
  }
  end_with("kernels without readable PTX: compile them with --no-compress");
}

/// 90 of ".target sm_90".
int target_of(std::string_view text) {
  constexpr std::string_view kBefore = ".target sm_";
  const auto at = text.find(kBefore);
  if (at == std::string_view::npos) end_with("PTX that does not say for which GPU it is");
  return std::atoi(text.data() + at + kBefore.size());
}

void load(const void* wrapper) {
  const std::string_view text = text_of(wrapper);
  for (auto& [name, kernel] : read_program(text)) {
    Loaded loaded{kernel, std::vector<bool>(kernel.code.size()), target_of(text)};
    if (!library().kernels.emplace(name, std::move(loaded)).second)
      end_with("two kernels are called " + name);
  }
}

/// Another seed for each launch of a kernel, the same in every run of the program.
std::uint64_t next_seed(Loaded& loaded, std::uint64_t seed) {
  const std::lock_guard lock(library().mutex);
  return seed + loaded.launches++;
}

void note(Loaded& loaded, const Outcome& outcome) {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  loaded.instructions += outcome.instructions;
  for (std::size_t i = 0; i < outcome.executed.size(); ++i)
    if (outcome.executed[i]) loaded.executed[i] = true;
  all.findings.insert(all.findings.end(), outcome.findings.begin(), outcome.findings.end());
  for (const Finding& f : outcome.findings)
    std::fprintf(stderr, "stand-in: %s\n  %s\n  in %s\n", f.what.c_str(), f.where.c_str(),
                 f.kernel.c_str());
  if (!outcome.findings.empty() && !all.are_taken) std::abort();
}

std::vector<std::byte> copied(const Kernel& kernel, void** arguments) {
  std::vector<std::byte> bytes(kernel.all_parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameter_bytes.size(); ++i)
    std::memcpy(&bytes[kernel.parameter_places[i]], arguments[i], kernel.parameter_bytes[i]);
  return bytes;
}

bool fits(dim3 grid, dim3 threads) {
  const auto count = std::uint64_t{threads.x} * threads.y;
  return count >= 1 && count <= kMostThreads && threads.z == 1 && grid.x >= 1 && grid.y >= 1 &&
         grid.z == 1 && grid.x <= 0x7fffffffU && grid.y <= 0xffffU;
}

/// Whether the kernel may begin before the one before it has ended.
bool is_early(const cudaLaunchConfig_t& config) {
  for (const cudaLaunchAttribute& a : std::span(config.attrs, config.numAttrs))
    if (a.id != cudaLaunchAttributeProgrammaticStreamSerialization)
      end_with("an attribute of a launch that is not known");
  return config.numAttrs > 0 && config.attrs[0].val.programmaticStreamSerializationAllowed != 0;
}

cudaError_t queue(const void* function, const cudaLaunchConfig_t& config, void** arguments) {
  const auto found = library().by_function.find(function);
  if (found == library().by_function.end()) return cudaErrorInvalidDeviceFunction;
  if (!fits(config.gridDim, config.blockDim)) return cudaErrorInvalidConfiguration;
  if (config.dynamicSmemBytes != 0) end_with("no shared memory but arrays of fixed size");
  Loaded& loaded = *found->second;
  const Shape grid{config.gridDim.x, config.gridDim.y};
  const Shape threads{config.blockDim.x, config.blockDim.y};
  const bool early = is_early(config);
  const auto noted = standin::note_launch({.name = loaded.kernel.name,
                                           .grid = {grid.x, grid.y},
                                           .block = {threads.x, threads.y},
                                           .early = early});
  if (!standin::kernels_run()) return cudaSuccess;
  return standin::submit(config.stream, [=, &loaded, settings = library().settings,
                                         parameters = copied(loaded.kernel, arguments)] {
    Settings own = settings;
    own.seed = next_seed(loaded, settings.seed);
    own.early = early;
    own.counts = noted != nullptr;
    const Outcome outcome = Interpreter(loaded.kernel, grid, threads, parameters, own).run();
    for (const auto& [memory, touched] : outcome.touched)
      if (noted) noted->touched[memory] = {touched.read, touched.written, touched.shared};
    note(loaded, outcome);
  });
}

}  // namespace

Settings& launch_settings() { return library().settings; }

std::vector<Finding> take_findings() {
  const std::lock_guard lock(library().mutex);
  library().are_taken = true;
  return std::exchange(library().findings, {});
}

std::vector<Coverage> coverage() {
  const std::lock_guard lock(library().mutex);
  std::vector<Coverage> all;
  for (const auto& [name, loaded] : library().kernels) {
    Coverage c{name, loaded.launches, loaded.instructions, {}, loaded.executed.size()};
    for (std::size_t i = 0; i < loaded.executed.size(); ++i)
      if (!loaded.executed[i]) c.never.push_back(loaded.kernel.describe(i));
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace rueda::ptx

using rueda::ptx::library;

// What host code that nvcc made calls.
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  try {
    rueda::ptx::load(wrapper);
  } catch (const rueda::ptx::Unknown& unknown) {
    rueda::ptx::end_with(unknown.what());
  }
  static void* handle = nullptr;
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const auto found = library().kernels.find(name);
  if (found == library().kernels.end()) rueda::ptx::end_with(std::string("no PTX of ") + name);
  library().by_function[function] = &found->second;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return rueda::standin::note(rueda::ptx::queue(function, *config, arguments));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  const auto found = library().by_function.find(function);
  if (found == library().by_function.end())
    return rueda::standin::note(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->ptxVersion = found->second->target;
  return cudaSuccess;
}

// Of kernel<<<...>>>, which rueda does not write; the bodies that nvcc makes name them.
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*) {
  return cudaErrorNotSupported;
}
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { return cudaErrorNotSupported; }
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}

}  // extern "C"
