#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

namespace rueda::standin {

enum class MemoryKind { device, pinned };

struct Block {
  std::size_t bytes;
  MemoryKind kind;
  int device;
};

struct PlacedBlock : Block {
  std::byte* begin;
};

/// All memory that the runtime has handed out, by address.
class MemoryMap {
 public:
  /// The one of this process; it is never destroyed.
  static MemoryMap& instance();

  /// Memory filled with kFresh, aligned as cudaMalloc's is; null if the device has no more.
  void* allocate(std::size_t bytes, MemoryKind kind, int device);
  /// False if `memory` is not the begin of a block of this kind.
  bool release(void* memory, MemoryKind kind);
  /// The block that an address lies in.
  std::optional<PlacedBlock> find(const void* address) const;

  struct Counts {
    std::size_t allocations = 0, in_use = 0, peak = 0, overruns = 0;
  };
  Counts counts() const;
  void reset_peak();
  std::size_t used(int device) const;

  static constexpr std::byte kFresh{0xA5};

 private:
  void count(const Block& block);
  void check_margin(const std::byte* end);

  mutable std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;
  std::map<int, std::size_t> used_;
  Counts counts_;
};

/// Whether all of a range lies in one block, so that a device may use it.
bool is_device_range(const void* begin, std::size_t bytes);

/// Whether an address lies in device memory, which the host may not touch.
bool is_device_address(const void* address);

}  // namespace rueda::standin
