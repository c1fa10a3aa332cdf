#include <atomic>
#include <cstring>
#include <utility>

#include "interpreter.hpp"

// Loads and stores.

namespace rueda::ptx {
namespace {

template <typename T>
std::uint64_t number_at(const std::byte* from, bool is_signed) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return is_signed ? std::uint64_t(std::int64_t(std::make_signed_t<T>(value))) : value;
}

std::uint64_t read_number(const std::byte* from, const Instruction& i) {
  if (i.bytes == 4) return number_at<std::uint32_t>(from, i.is_signed);
  if (i.bytes == 8) return number_at<std::uint64_t>(from, i.is_signed);
  if (i.bytes == 2) return number_at<std::uint16_t>(from, i.is_signed);
  return number_at<std::uint8_t>(from, i.is_signed);
}

void write_number(std::byte* to, std::uint64_t value, std::size_t bytes) {
  if (bytes == 4)
    std::memcpy(to, &value, 4);
  else if (bytes == 8)
    std::memcpy(to, &value, 8);
  else
    std::memcpy(to, &value, bytes);
}

void load(Interpreter& m, const Instruction& i, unsigned lane, const std::byte* from) {
  for (unsigned k = 0; k < i.writes; ++k)
    m.set_value(i.to[k], lane, read_number(from + std::size_t(k) * i.bytes, i));
}

void store(Interpreter& m, const Instruction& i, unsigned lane, std::byte* to) {
  for (unsigned k = 1; k < i.reads; ++k)
    write_number(to + (k - 1U) * i.bytes, m.value(i.from[k], lane), i.bytes);
}

std::byte* memory_at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

/// Whether a word of these was not written yet; of less than a word, whether all that lies about it
/// was not.
bool has_fresh(const Interpreter& m, std::uint64_t address, std::size_t bytes) {
  const std::uint64_t& fresh = m.settings().fresh;
  if (bytes < 4) return std::memcmp(memory_at(address / 8 * 8), &fresh, 8) == 0;
  for (std::size_t at = 0; at < bytes; at += 4)
    if (std::memcmp(memory_at(address + at), &fresh, 4) == 0) return true;
  return false;
}

/// Checks an access to shared memory, which has a cell for four bytes, or for each byte of a
/// variable of less. Null if it must not be made.
std::byte* look_at_shared(Interpreter& m, const Instruction& i, unsigned lane, std::size_t bytes,
                          bool writes) {
  Block& block = m.block();
  const std::uint64_t address = m.address(i, lane) & UINT32_MAX;
  const auto unit_at = [&](std::size_t at) {
    return at < block.shared.size() ? m.kernel().shared_units[at / 4] : 0;
  };
  const unsigned unit = unit_at(address);
  if ((address & (bytes - 1)) != 0 || unit == 0 || unit_at(address + bytes - 1) == 0) {
    m.report("a shared address is not aligned, or of no variable");
    return nullptr;
  }
  const Stamp stamp = m.accessor(lane).stamp;
  const unsigned part = unit == 1 || bytes >= unit ? 15 : ((1U << bytes) - 1) << address % 4;
  for (std::size_t at = address / unit * unit; at < address + bytes; at += unit) {
    SharedCell& cell = block.cells[at];
    if (writes) cell.written = std::uint8_t(cell.written | part);
    if ((cell.written & part) != part) m.report("shared memory is read, but not written");
    if (touch(cell, stamp, writes)) m.report("threads of a block race in shared memory");
  }
  return &block.shared[address];
}

/// A volatile store announces to the host, which polls it, that the work before is done. Without a
/// fence of the system in between, the host may see the announcement first.
void look_at_announcement(Interpreter& m, const Instruction& i, Mask active) {
  Mask& fenced = m.warp().fenced_for_system;
  if (i.is_volatile && (active & ~fenced) != 0)
    m.report("an announcement comes without a fence of the system after what was written");
  fenced &= ~active;
}

/// What comes before is not done yet.
void look_at_previous_kernel(Interpreter& m, Mask active) {
  if (!m.has_waited(active)) m.report("memory is touched before the kernel before has ended");
}

}  // namespace

void load_global(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  look_at_previous_kernel(m, active);
  const std::size_t bytes = std::size_t(i.bytes) * i.writes;
  each_lane(active, [&](unsigned lane) {
    const std::uint64_t address = m.address(i, lane);
    if (!m.may_access(address, bytes)) return;
    if (has_fresh(m, address, bytes)) m.report("memory is read, but not written");
    if (m.settings().races && m.order().touch(m.accessor(lane), address, bytes, Access::read))
      m.report("a read races with a write of another thread");
    load(m, i, lane, memory_at(address));
  });
  m.set_known(i, active);
}

void store_global(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  look_at_previous_kernel(m, active);
  look_at_announcement(m, i, active);
  const std::size_t bytes = std::size_t(i.bytes) * (i.reads - 1U);
  each_lane(active, [&](unsigned lane) {
    const std::uint64_t address = m.address(i, lane);
    if (!m.may_access(address, bytes)) return;
    if (m.settings().races && m.order().touch(m.accessor(lane), address, bytes, Access::write))
      m.report("a write races with an access of another thread");
    store(m, i, lane, memory_at(address));
  });
}

void load_shared(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  each_lane(active, [&](unsigned lane) {
    const std::size_t bytes = std::size_t(i.bytes) * i.writes;
    if (const std::byte* from = look_at_shared(m, i, lane, bytes, false)) load(m, i, lane, from);
  });
  m.set_known(i, active);
}

void store_shared(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  each_lane(active, [&](unsigned lane) {
    const std::size_t bytes = std::size_t(i.bytes) * (i.reads - 1U);
    if (std::byte* to = look_at_shared(m, i, lane, bytes, true)) store(m, i, lane, to);
  });
}

void load_parameter(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  const std::size_t bytes = std::size_t(i.bytes) * i.writes;
  each_lane(active, [&](unsigned lane) {
    const std::uint64_t at = m.address(i, lane);
    if ((at & (bytes - 1)) != 0 || at + bytes > m.parameters().size())
      return m.report("a parameter's address is not aligned, or of no parameter");
    load(m, i, lane, &m.parameters()[at]);
  });
  m.set_known(i, active);
}

void atomic_add(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  look_at_previous_kernel(m, active);
  m.warp().fenced_for_system &= ~active;
  each_lane(active, [&](unsigned lane) {
    const std::uint64_t address = m.address(i, lane);
    if (!m.may_access(address, i.bytes)) return;
    if (has_fresh(m, address, i.bytes)) m.report("memory is read, but not written");
    if (m.settings().races) {
      if (m.order().touch(m.accessor(lane), address, i.bytes, Access::atomic))
        m.report("an atomic addition races with an access of another thread");
      m.order().add(m.accessor(lane), address);
    }
    const std::uint64_t more = m.value(i.from[1], lane);
    std::uint64_t before = 0;  // atomic, since kernels of other streams run too
    if (i.bytes == 4)
      before = std::atomic_ref(*reinterpret_cast<std::uint32_t*>(address)).fetch_add(Mask(more));
    else
      before = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).fetch_add(more);
    if (i.writes != 0) m.set_value(i.to[0], lane, before);
  });
  m.set_known(i, active);
}

void fence(Interpreter& m, const Instruction& i, Mask active) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (i.is_of_system) m.warp().fenced_for_system |= active;
  each_lane(active, [&](unsigned lane) { GlobalOrder::fence(m.accessor(lane)); });
}

}  // namespace rueda::ptx
