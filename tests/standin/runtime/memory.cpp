#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <unistd.h>

#include "driver.hpp"
#include "runtime.hpp"

namespace rueda::standin {
namespace {

constexpr std::size_t kUnit = 512;
/// After every block of device memory, so that writing past its end shows.
constexpr std::byte kMargin{0xC3};
constexpr std::size_t kMarginBytes = kUnit;

std::size_t rounded(std::size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

/// Memory for a device: host memory of this process, or what the driver named by
/// RUEDA_STANDIN_DRIVER gives, which other processes can share. Null if there is none.
void* take_from_driver(std::size_t bytes) {
  if (driver().allocate == nullptr) {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kUnit, bytes + kUnit));
    return memory == nullptr ? nullptr : memory + device_alignment();
  }
  DriverAddress address = 0;
  if (driver().allocate(&address, bytes) != 0) return nullptr;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

void* take(std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::pinned) return std::aligned_alloc(kUnit, rounded(bytes));
  auto* memory = static_cast<std::byte*>(take_from_driver(rounded(bytes) + kMarginBytes));
  if (memory == nullptr) return nullptr;
  std::memset(memory, int(MemoryMap::kFresh), bytes);
  std::memset(memory + bytes, int(kMargin), kMarginBytes);
  return memory;
}

void give_back(void* memory, MemoryKind kind) {
  if (kind == MemoryKind::pinned) {
    std::free(memory);
  } else if (driver().release == nullptr) {
    std::free(static_cast<std::byte*>(memory) - device_alignment());
  } else {
    static_cast<void>(driver().release(reinterpret_cast<std::uintptr_t>(memory)));
  }
}

/// What a whole program made of its memory, for those who can only start it.
void write_counters() {
  const char* folder = std::getenv("RUEDA_STANDIN_COUNTERS");
  if (folder == nullptr) return;
  const auto counts = MemoryMap::instance().counts();
  std::ofstream file(std::string(folder) + "/" + std::to_string(getpid()));
  file << "allocations " << counts.allocations << "\npeak_bytes " << counts.peak
       << "\nbytes_in_use " << counts.in_use << "\noverruns " << counts.overruns << "\ngraph_nodes "
       << largest_graph << "\ncompilations " << compilations << '\n';
}

}  // namespace

std::size_t device_alignment() {
  static const std::size_t alignment = setting("RUEDA_STANDIN_ALIGNMENT", 256);
  return alignment;
}

MemoryMap& MemoryMap::instance() {
  static auto& it = *new MemoryMap;
  static const int registered = std::atexit(write_counters);
  static_cast<void>(registered);
  return it;
}

void MemoryMap::count(const Block& block) {
  ++counts_.allocations;
  if (block.kind != MemoryKind::device) return;
  used_[block.device] += rounded(block.bytes);
  counts_.in_use += rounded(block.bytes);
  counts_.peak = std::max(counts_.peak, counts_.in_use);
}

void* MemoryMap::allocate(std::size_t bytes, MemoryKind kind, int device) {
  const std::lock_guard lock(mutex_);
  const bool fits = bytes <= device_bytes() && used_[device] + rounded(bytes) <= device_bytes();
  if (kind == MemoryKind::device && !fits) return nullptr;
  void* memory = take(bytes, kind);
  if (memory == nullptr) return nullptr;
  const Block block{bytes, kind, device};
  blocks_[static_cast<std::byte*>(memory)] = block;
  count(block);
  return memory;
}

void MemoryMap::check_margin(const std::byte* end) {
  if (std::all_of(end, end + kMarginBytes, [](std::byte b) { return b == kMargin; })) return;
  ++counts_.overruns;
  std::fprintf(stderr, "stand-in: device memory was written past the end of its block (%p)\n",
               static_cast<const void*>(end));
}

bool MemoryMap::release(void* memory, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<std::byte*>(memory));
  if (found == blocks_.end() || found->second.kind != kind) return false;
  const Block block = found->second;
  blocks_.erase(found);
  if (kind == MemoryKind::device) {
    check_margin(static_cast<std::byte*>(memory) + block.bytes);
    used_[block.device] -= rounded(block.bytes);
    counts_.in_use -= rounded(block.bytes);
  }
  give_back(memory, kind);
  return true;
}

std::optional<PlacedBlock> MemoryMap::find(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto* wanted = static_cast<const std::byte*>(address);
  auto found = blocks_.upper_bound(wanted);
  if (found == blocks_.begin()) return std::nullopt;
  --found;
  if (wanted >= found->first + found->second.bytes) return std::nullopt;
  return PlacedBlock{found->second, const_cast<std::byte*>(found->first)};
}

std::size_t MemoryMap::used(int device) const {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(device);
  return found == used_.end() ? 0 : found->second;
}

StandinMemory MemoryMap::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void MemoryMap::count_copy_to_host(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  counts_.to_host += bytes;
}

void MemoryMap::reset_peak() {
  const std::lock_guard lock(mutex_);
  counts_.peak = counts_.in_use;
}

bool is_device_range(const void* begin, std::size_t bytes) {
  const auto block = MemoryMap::instance().find(begin);
  if (!block) return false;
  const auto offset = std::size_t(static_cast<const std::byte*>(begin) - block->begin);
  return bytes <= block->bytes - offset;
}

bool is_device_address(const void* address) {
  const auto block = MemoryMap::instance().find(address);
  return block && block->kind == MemoryKind::device;
}

}  // namespace rueda::standin

namespace rueda {

StandinMemory standin_memory() { return standin::MemoryMap::instance().counts(); }
void standin_reset_peak() { standin::MemoryMap::instance().reset_peak(); }

}  // namespace rueda
