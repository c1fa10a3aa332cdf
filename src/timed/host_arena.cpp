#include "host_arena.hpp"

#include <algorithm>
#include <string>

#include <sys/mman.h>

#include "rueda/core/error.hpp"

namespace rueda::timed {

HostArena::HostArena(std::size_t bytes) : data_(nullptr), size_(bytes) {
  void* place = mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    throw OutOfMemory("out of memory: " + std::to_string(bytes) +
                      " bytes in one piece were not to be had; start fewer ranks on a machine");
  }
  data_ = static_cast<std::byte*>(place);
}

HostArena::~HostArena() { munmap(data_, std::max<std::size_t>(size_, 1)); }

}  // namespace rueda::timed
