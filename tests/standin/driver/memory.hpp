#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rueda::standin {

/// "Device" memory that is shared host memory, so that another process can map it as CUDA IPC
/// would.
class DeviceMemory {
 public:
  /// What names a block to other processes.
  struct Handle {
    char name[48];
    std::uint64_t bytes;
  };
  struct Block {
    char* begin = nullptr;
    std::size_t bytes = 0;
    std::string name;  // of the shared memory object
    bool own = true;   // allocated here, not opened
    bool contains(const void* pointer) const {
      const auto* address = static_cast<const char*>(pointer);
      return address >= begin && address < begin + bytes;
    }
    Handle handle() const {
      Handle result = {.name = {}, .bytes = bytes};
      name.copy(result.name, sizeof(result.name) - 1);
      return result;
    }
  };

  DeviceMemory() = default;
  ~DeviceMemory() {
    for (const Block& block : blocks_) {
      if (block.own) shm_unlink(block.name.c_str());
    }
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// A new block; null when the system has no memory for it.
  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::string name =
        "/rueda-device-" + std::to_string(getpid()) + "-" + std::to_string(made_++);
    const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0) return nullptr;
    void* address = nullptr;
    // Allocated now: a full /dev/shm would otherwise end the process when the memory is touched.
    if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0) {
      address = map(name, bytes, file, true);
    } else {
      close(file);
    }
    if (address == nullptr) shm_unlink(name.c_str());
    return address;
  }
  /// Maps another process's block; null when it is not there.
  void* open(const Handle& theirs) {
    const std::lock_guard lock(mutex_);
    const int file = shm_open(theirs.name, O_RDWR, 0);
    return file < 0 ? nullptr : map(theirs.name, theirs.bytes, file, false);
  }
  /// Whether there was a block with this address in it, which is gone now.
  bool release(const void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const Block& b) { return b.contains(pointer); });
    if (block == blocks_.end()) return false;
    munmap(block->begin, block->bytes);
    if (block->own) shm_unlink(block->name.c_str());
    blocks_.erase(block);
    return true;
  }
  /// The block around an address; nothing for host memory.
  std::optional<Block> find(const void* pointer) const {
    const std::lock_guard lock(mutex_);
    for (const Block& block : blocks_) {
      if (block.contains(pointer)) return block;
    }
    return std::nullopt;
  }

 private:
  void* map(const std::string& name, std::size_t bytes, int file, bool own) {
    void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (address == MAP_FAILED) return nullptr;
    blocks_.push_back({static_cast<char*>(address), bytes, name, own});
    return address;
  }

  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
  inline static std::atomic<std::size_t> made_ = 0;  // names are the process's
};

}  // namespace rueda::standin
