#include "driver.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

#include "runtime.hpp"

namespace rueda::standin {
namespace {

[[noreturn]] void end_without_driver(const char* path, const char* why) {
  std::fprintf(stderr, "stand-in: RUEDA_STANDIN_DRIVER=%s cannot be used: %s\n", path, why);
  std::exit(2);
}

template <typename Function>
void look_up(void* library, const char* path, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) end_without_driver(path, dlerror());
}

Driver open_driver() {
  Driver driver;
  const char* path = std::getenv("RUEDA_STANDIN_DRIVER");
  if (path == nullptr || *path == '\0') return driver;
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) end_without_driver(path, dlerror());
  look_up(library, path, "cuMemAlloc_v2", driver.allocate);
  look_up(library, path, "cuMemFree_v2", driver.release);
  look_up(library, path, "cuIpcGetMemHandle", driver.export_block);
  look_up(library, path, "cuIpcOpenMemHandle_v2", driver.import_block);
  look_up(library, path, "cuIpcCloseMemHandle", driver.drop_import);
  return driver;
}

/// Only the begin of a block of device memory has a handle.
cudaError_t export_block(cudaIpcMemHandle_t* handle, void* memory) {
  const auto block = MemoryMap::instance().find(memory);
  if (!block || block->begin != memory || block->kind != MemoryKind::device)
    return cudaErrorInvalidValue;
  if (driver().export_block == nullptr) return cudaErrorNotSupported;
  return cudaError_t(driver().export_block(handle, reinterpret_cast<std::uintptr_t>(memory)));
}

cudaError_t import_block(void** memory, const cudaIpcMemHandle_t& handle, unsigned flags) {
  if (driver().import_block == nullptr) return cudaErrorNotSupported;
  if (flags != cudaIpcMemLazyEnablePeerAccess) return cudaErrorInvalidValue;
  const cudaError_t code = forbid_in_capture();
  if (code != cudaSuccess) return code;
  DriverAddress address = 0;
  const int result = driver().import_block(&address, handle, flags);
  *memory = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return cudaError_t(result);
}

}  // namespace

const Driver& driver() {
  static const Driver it = open_driver();
  return it;
}

}  // namespace rueda::standin

namespace standin = rueda::standin;

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  return standin::note(standin::export_block(handle, memory));
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned flags) {
  return standin::note(standin::import_block(memory, handle, flags));
}

cudaError_t cudaIpcCloseMemHandle(void* memory) {
  if (standin::driver().drop_import == nullptr) return standin::note(cudaErrorNotSupported);
  return standin::note(
      cudaError_t(standin::driver().drop_import(reinterpret_cast<std::uintptr_t>(memory))));
}

}  // extern "C"
