#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rueda::standin {

/// "Device" memory that is shared host memory, so that another process can map it as CUDA IPC
/// would.
class DeviceMemory {
 public:
  struct Block {
    char* begin = nullptr;
    std::size_t bytes = 0;
    std::string name;  // of the shared memory object
    bool own = true;   // allocated here, not opened
    bool contains(const void* pointer) const;
  };

  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// A new block; null when the system has no memory for it.
  void* allocate(std::size_t bytes);
  /// Maps another process's block; null when it is not there.
  void* open(const std::string& name, std::size_t bytes);
  /// Whether there was a block with this address in it, which is gone now.
  bool release(const void* pointer);
  /// The block around an address; nothing for host memory.
  std::optional<Block> find(const void* pointer) const;

 private:
  void* map(const std::string& name, std::size_t bytes, int file, bool own);

  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
  std::size_t made_ = 0;
};

}  // namespace rueda::standin
