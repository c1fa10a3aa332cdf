#include "memory_source.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace rueda::standin {
namespace {

using Address = unsigned long long;  // CUdeviceptr

struct Driver {
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*release)(Address) = nullptr;
};

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
  return driver;
}

const Driver& driver() {
  static const Driver it = open_driver();
  return it;
}

}  // namespace

void* take_memory(std::size_t bytes) {
  if (driver().allocate == nullptr) return std::aligned_alloc(kMemoryAlignment, bytes);
  Address address = 0;
  if (driver().allocate(&address, bytes) != 0) return nullptr;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

void give_memory_back(void* memory) {
  if (driver().release == nullptr) {
    std::free(memory);
  } else {
    static_cast<void>(driver().release(reinterpret_cast<std::uintptr_t>(memory)));
  }
}

}  // namespace rueda::standin
