#include "memory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <unistd.h>

#include "device.hpp"
#include "memory_source.hpp"
#include "tests/standin/standin.hpp"

namespace rueda::standin {
namespace {

/// Behind every block of device memory, so that writing behind its end shows.
constexpr std::byte kMargin{0xC3};
constexpr std::size_t kMarginBytes = kMemoryAlignment;

std::size_t rounded(std::size_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

void* take(std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::pinned) return std::aligned_alloc(kMemoryAlignment, rounded(bytes));
  auto* memory = static_cast<std::byte*>(take_memory(rounded(bytes) + kMarginBytes));
  if (memory == nullptr) return nullptr;
  std::memset(memory, static_cast<int>(MemoryMap::kFresh), bytes);
  std::memset(memory + bytes, static_cast<int>(kMargin), kMarginBytes);
  return memory;
}

void give_back(void* memory, MemoryKind kind) {
  if (kind == MemoryKind::pinned) {
    std::free(memory);
  } else {
    give_memory_back(memory);
  }
}

/// What a whole program made of its memory, for those who can only start it.
void write_counters() {
  const char* folder = std::getenv("RUEDA_STANDIN_COUNTERS");
  if (folder == nullptr) return;
  const MemoryMap& map = MemoryMap::instance();
  std::ofstream file(std::string(folder) + "/" + std::to_string(getpid()));
  file << "allocations " << map.allocations() << "\npeak_bytes " << map.peak() << "\nbytes_in_use "
       << map.in_use() << "\noverruns " << map.overruns() << '\n';
}

}  // namespace

MemoryMap& MemoryMap::instance() {
  static auto& it = *new MemoryMap;
  static const int registered = std::atexit(write_counters);
  static_cast<void>(registered);
  return it;
}

void MemoryMap::count(const Block& block) {
  ++allocations_;
  if (block.kind != MemoryKind::device) return;
  used_[block.device] += rounded(block.bytes);
  in_use_ += rounded(block.bytes);
  peak_ = std::max(peak_, in_use_);
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
  ++overruns_;
  std::fprintf(stderr, "stand-in: device memory was written behind the end of its block (%p)\n",
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
    in_use_ -= rounded(block.bytes);
  }
  give_back(memory, kind);
  return true;
}

bool MemoryMap::enlist(void* memory, std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  auto* begin = static_cast<std::byte*>(memory);
  const auto next = blocks_.lower_bound(begin);
  if (next != blocks_.end() && next->first < begin + bytes) return false;
  if (next != blocks_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second.bytes > begin) return false;
  }
  blocks_[begin] = {bytes, MemoryKind::registered, device};
  return true;
}

bool MemoryMap::delist(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<std::byte*>(memory));
  if (found == blocks_.end() || found->second.kind != MemoryKind::registered) return false;
  blocks_.erase(found);
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

std::size_t MemoryMap::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t MemoryMap::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void MemoryMap::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

std::size_t MemoryMap::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_;
}

std::size_t MemoryMap::overruns() const {
  const std::lock_guard lock(mutex_);
  return overruns_;
}

bool is_device_range(const void* begin, std::size_t bytes) {
  const auto block = MemoryMap::instance().find(begin);
  if (!block) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(begin) - block->begin);
  return bytes <= block->bytes - offset;
}

bool is_device_address(const void* address) {
  const auto block = MemoryMap::instance().find(address);
  return block && block->kind == MemoryKind::device;
}

}  // namespace rueda::standin

namespace rueda {

using standin::MemoryMap;

std::size_t standin_allocations() { return MemoryMap::instance().allocations(); }
std::size_t standin_bytes_in_use() { return MemoryMap::instance().in_use(); }
std::size_t standin_peak_bytes() { return MemoryMap::instance().peak(); }
void standin_reset_peak() { MemoryMap::instance().reset_peak(); }
std::size_t standin_overruns() { return MemoryMap::instance().overruns(); }

}  // namespace rueda
