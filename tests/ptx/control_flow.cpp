#include <array>

#include "interpreter.hpp"

// Where threads go and wait, and what they give each other.

namespace rueda::ptx {

void branch(Interpreter& m, const Instruction& i, Mask active) {
  if (active == m.group()) return m.go_to(i.target);
  if (active == 0) return;
  m.keep_group();
  each_lane(active, [&](unsigned lane) { m.warp().pc[lane] = i.target; });
  m.choose_group();
}

void let_next_kernel_begin(Interpreter& m, const Instruction&, Mask active) {
  if (!m.has_waited(active)) m.report("the next kernel may begin while the one before still runs");
}

void wait_for_previous_kernel(Interpreter& m, const Instruction&, Mask active) {
  m.warp().waited |= active;
}

void leave(Interpreter& m, const Instruction&, Mask active) {
  if (!m.has_waited(active)) m.report("a thread ends that has not waited for the kernel before");
  m.warp().live &= ~active;
  m.set_group(m.group() & ~active);
}

void barrier(Interpreter& m, const Instruction&, Mask active) {
  m.keep_group();
  m.warp().at_barrier |= active;
  m.set_group(m.group() & ~active);
}

namespace {

/// Waits until all threads that it names are there.
void shuffle(Interpreter& m, const Instruction& i, Mask active, bool down) {
  if (active == 0) return;
  m.check_known(i, active);
  Warp& warp = m.warp();
  const std::uint32_t here = m.next() - 1;
  const Mask named = Mask(m.value(i.from[3], unsigned(std::countr_zero(active))));
  if ((named & ~warp.live) != 0) m.report("a shuffle names threads that have ended");
  each_lane(active, [&](unsigned lane) { warp.pc[lane] = here; });
  each_lane(warp.at_shuffle, [&](unsigned lane) { active |= Mask(warp.pc[lane] == here) << lane; });
  if ((named & warp.live & ~active) != 0) {
    warp.at_shuffle |= active;
    return m.set_group(m.group() & ~active);
  }
  warp.at_shuffle &= ~active;
  m.set_group(m.group() | active);
  std::array<std::uint64_t, kWarp> given{};
  each_lane(active, [&](unsigned lane) { given[lane] = m.value(i.from[0], lane); });
  each_lane(active, [&](unsigned lane) {
    const auto by = unsigned(m.value(i.from[1], lane)), bounds = unsigned(m.value(i.from[2], lane));
    const unsigned segment = bounds >> 8U & 31U;
    const unsigned last = (lane & segment) | (bounds & 31U & ~segment);
    const unsigned wanted = down ? lane + by : lane ^ by;
    const unsigned source = wanted <= last ? wanted : lane;
    if ((active >> source & 1U) == 0) m.report("a shuffle reads a thread that takes no part");
    m.set_value(i.to[0], lane, given[source]);
    if (i.writes < 2) return;
    Mask& p = warp.predicates[i.to[1].row];
    p = (p & ~(Mask{1} << lane)) | Mask(wanted <= last) << lane;
  });
  m.set_known(i, active);
}

}  // namespace

void shuffle_down(Interpreter& m, const Instruction& i, Mask active) {
  shuffle(m, i, active, true);
}
void shuffle_xor(Interpreter& m, const Instruction& i, Mask active) {
  shuffle(m, i, active, false);
}

void move_special(Interpreter& m, const Instruction& i, Mask active) {
  const Shape threads = m.threads(), grid = m.grid(), place = m.block().place;
  each_lane(active, [&](unsigned lane) {
    const unsigned thread = m.warp().first + lane;
    const std::array values = {thread % threads.x,
                               thread / threads.x,
                               threads.x,
                               threads.y,
                               place.x,
                               place.y,
                               grid.x,
                               grid.y,
                               lane};
    static_assert(values.size() == kSpecial.size());
    m.set_value(i.to[0], lane, values[std::size_t(i.value)]);
  });
  m.set_known(i, active);
}

void split_word(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  const unsigned bits = 8U * i.bytes;
  each_lane(active, [&](unsigned lane) {
    const std::uint64_t word = m.value(i.from[0], lane);
    for (unsigned k = 0; k < i.writes; ++k)
      m.set_value(i.to[k], lane, word >> (bits * k) & ((std::uint64_t{1} << bits) - 1));
  });
  m.set_known(i, active);
}

void join_words(Interpreter& m, const Instruction& i, Mask active) {
  m.check_known(i, active);
  each_lane(active, [&](unsigned lane) {
    std::uint64_t word = 0;
    for (unsigned k = 0; k < i.reads; ++k) word |= m.value(i.from[k], lane) << (8U * i.bytes * k);
    m.set_value(i.to[0], lane, word);
  });
  m.set_known(i, active);
}

}  // namespace rueda::ptx
