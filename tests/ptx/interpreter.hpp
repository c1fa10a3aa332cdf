#pragma once

#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "program.hpp"
#include "races.hpp"

// Runs a kernel of PTX in host memory and looks at everything that it does.

namespace rueda::ptx {

/// What a kernel must not do. Each instruction is reported once.
struct Finding {
  std::string what;
  std::string kernel;
  std::string where;  ///< the instruction, its line in the PTX and in the source
};

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

struct Settings {
  std::uint64_t seed = 1;
  unsigned resident = 4;  ///< blocks that run at the same time
  bool races = true;      ///< looks for races in global memory
  bool early = false;   ///< begins before the kernel before it has ended, and waits for that itself
  bool counts = false;  ///< the bytes that are touched, too: of memory where races are looked for
  std::size_t most_blocks = SIZE_MAX;  ///< of a grid; a random choice of them where it has more
  /// The memory that an address lies in. No access may cross its ends.
  std::function<std::optional<Range>(std::uintptr_t)> find_memory;
  /// What memory holds before it is written.
  std::uint64_t fresh = 0xA5A5A5A5A5A5A5A5U;
};

struct Shape {
  unsigned x = 1;
  unsigned y = 1;
};

struct Outcome {
  std::vector<Finding> findings;
  std::vector<bool> executed;                   ///< instructions of the kernel
  std::uint64_t instructions = 0;               ///< of all threads together
  std::map<std::size_t, Touched> touched = {};  ///< by the size of the memory, where it is counted
};

struct Block;

/// A warp: its registers, where its threads are, and which of them wait.
struct Warp {
  Block* block = nullptr;
  unsigned first = 0;  ///< its first thread in the block
  Mask live = 0, at_barrier = 0, at_shuffle = 0;
  std::array<std::uint32_t, kWarp> pc{};  ///< of the threads that do not run now
  std::vector<Mask> predicates;
  std::vector<std::array<std::uint32_t, kWarp>> narrow;
  std::vector<std::array<std::uint64_t, kWarp>> wide;
  std::array<std::vector<Mask>, 3> known;  ///< of each register: the threads that have written it
  Mask waited = 0;                         ///< threads that know that the kernel before has ended
  Mask fenced_for_system = 0;              ///< threads that have written nothing since such a fence
  WarpOrder order;

  Mask ready() const { return live & ~at_barrier & ~at_shuffle; }
  Mask known_at(Operand o) const { return known[std::size_t(o.kind)][o.row]; }
};

struct Block {
  unsigned index = 0;
  Shape place;
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  std::vector<SharedCell> cells;
  BlockOrder order;
};

/// f(thread) for the threads of a mask.
template <typename F>
void each_lane(Mask m, const F& f) {
  for (; m != 0; m &= m - 1) f(unsigned(std::countr_zero(m)));
}

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, Shape grid, Shape threads, std::vector<std::byte> parameters,
              const Settings& settings);
  Outcome run();

  // What the steps of instructions use. Those threads of a warp that are at the same place run
  // together, as a group.
  Warp& warp() { return *warp_; }
  Block& block() { return *warp_->block; }
  const Kernel& kernel() const { return kernel_; }
  const Settings& settings() const { return settings_; }
  Shape grid() const { return grid_; }
  Shape threads() const { return threads_; }
  const std::vector<std::byte>& parameters() const { return parameters_; }
  GlobalOrder& order() { return order_; }
  bool has_waited(Mask active) const { return (active & ~warp_->waited) == 0; }
  Accessor accessor(unsigned lane) const {
    Block& block = *warp_->block;
    const std::uint32_t thread = block.index * kMostThreads + warp_->first + lane + 1;
    return {{thread, block.order.epoch}, &block.order, &warp_->order, lane};
  }
  void report(const std::string& what);

  Mask group() const { return group_; }
  void set_group(Mask group) { group_ = group; }
  /// The instruction after the one that runs.
  std::uint32_t next() const { return pc_; }
  void go_to(std::uint32_t pc) { pc_ = pc; }
  /// Notes where the threads of the group are.
  void keep_group();
  /// The group that goes on; none where all threads wait.
  void choose_group();
  /// Whether an access to global memory lies in memory and is aligned.
  bool may_access(std::uintptr_t address, std::size_t bytes);

  /// Looks whether an instruction reads registers that were not written.
  void check_known(const Instruction& i, Mask active);
  void set_known(const Instruction& i, Mask active) {
    for (unsigned k = 0; k < i.writes; ++k)
      warp_->known[std::size_t(i.to[k].kind)][i.to[k].row] |= active;
  }
  std::uint64_t value(Operand o, unsigned lane) const {
    return o.kind == Kind::wide ? warp_->wide[o.row][lane] : warp_->narrow[o.row][lane];
  }
  void set_value(Operand o, unsigned lane, std::uint64_t v) {
    if (o.kind == Kind::wide)
      warp_->wide[o.row][lane] = v;
    else
      warp_->narrow[o.row][lane] = std::uint32_t(v);
  }
  std::uint64_t address(const Instruction& i, unsigned lane) const {
    return value(i.from[0], lane) + std::uint64_t(i.value);
  }

 private:
  void begin(Block& block, unsigned index);
  void begin(Warp& warp, unsigned first, unsigned lanes);
  bool run_some(Block& block);
  void run_warp(Warp& warp, unsigned instructions);
  void release_barrier(Block& block);
  bool may_go_on() const;
  void count_touched();

  const Kernel& kernel_;
  Shape grid_, threads_;
  std::vector<std::byte> parameters_;
  const Settings& settings_;
  Outcome outcome_;
  std::vector<bool> reported_;             // instructions
  std::uint64_t until_first_finding_ = 0;  // instructions of all threads
  GlobalOrder order_;
  std::vector<Range> memory_;  // that was found
  std::size_t last_memory_ = 0;
  std::mt19937_64 random_;

  Warp* warp_ = nullptr;
  Mask group_ = 0;
  std::uint32_t pc_ = 0;
};

}  // namespace rueda::ptx
