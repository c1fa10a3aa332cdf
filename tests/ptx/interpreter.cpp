#include "interpreter.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

namespace rueda::ptx {
namespace {

constexpr std::size_t kMostShared = std::size_t{48} << 10;  // of a block, in arrays of fixed size
/// Instructions after the first finding, for others.
constexpr std::uint64_t kAfterFinding = 10'000'000;

}  // namespace

Interpreter::Interpreter(const Kernel& kernel, Shape grid, Shape threads,
                         std::vector<std::byte> parameters, const Settings& settings)
    : kernel_(kernel),
      grid_(grid),
      threads_(threads),
      parameters_(std::move(parameters)),
      settings_(settings),
      reported_(kernel.code.size()),
      order_(kernel.global_unit),
      random_(settings.seed) {
  outcome_.executed.resize(kernel.code.size());
}

Outcome Interpreter::run() {
  if (kernel_.shared_bytes > kMostShared) report("too much shared memory");
  std::vector<unsigned> waiting(std::size_t(grid_.x) * grid_.y);
  std::iota(waiting.begin(), waiting.end(), 0U);
  std::shuffle(waiting.begin(), waiting.end(), random_);
  waiting.resize(std::min(waiting.size(), settings_.most_blocks));
  std::vector<std::unique_ptr<Block>> blocks;
  while ((!waiting.empty() || !blocks.empty()) && may_go_on()) {
    if (blocks.size() < settings_.resident && !waiting.empty()) {
      blocks.push_back(std::make_unique<Block>());
      begin(*blocks.back(), std::exchange(waiting.back(), 0));
      waiting.pop_back();
      continue;
    }
    auto& block = blocks[random_() % blocks.size()];
    if (run_some(*block)) continue;
    if (waiting.empty()) {
      std::swap(block, blocks.back());
      blocks.pop_back();
    } else {  // its memory serves the next one
      begin(*block, waiting.back());
      waiting.pop_back();
    }
  }
  if (settings_.counts) count_touched();
  return std::move(outcome_);
}

/// A kernel with a fault may have no end.
bool Interpreter::may_go_on() const {
  return outcome_.findings.empty() || outcome_.instructions - until_first_finding_ < kAfterFinding;
}

void Interpreter::count_touched() {
  constexpr std::uintptr_t kLine = 128;
  std::unordered_map<std::uintptr_t, std::set<std::uint32_t>> writers;
  order_.each_touched([&](std::uintptr_t address, const Touched& touched, std::uint32_t block) {
    if (touched.written > 0) writers[address / kLine].insert(block);
  });
  order_.each_touched([&](std::uintptr_t address, const Touched& touched, std::uint32_t) {
    const auto holds = [&](const Range& r) { return address >= r.begin && address < r.end; };
    const auto found = std::find_if(memory_.begin(), memory_.end(), holds);
    auto& [read, written, shared] = outcome_.touched[found->end - found->begin];
    read += touched.read;
    written += touched.written;
    if (touched.written > 0 && writers.at(address / kLine).size() > 1) shared += touched.written;
  });
}

void Interpreter::begin(Block& block, unsigned index) {
  block.index = index;
  block.place = {index % grid_.x, index / grid_.x};
  block.order = {};
  block.shared.assign(kernel_.shared_bytes, std::byte{0xA5});
  block.cells.assign(kernel_.shared_bytes, {});
  const unsigned threads = threads_.x * threads_.y;
  block.warps.resize((threads + kWarp - 1) / kWarp);
  unsigned first = 0;
  for (Warp& warp : block.warps) {
    warp.block = &block;
    begin(warp, first, std::min(kWarp, threads - first));
    first += kWarp;
  }
}

void Interpreter::begin(Warp& warp, unsigned first, unsigned lanes) {
  warp.first = first;
  warp.live = ~Mask{0} >> (kWarp - lanes);
  warp.at_barrier = warp.at_shuffle = warp.fenced_for_system = 0;
  warp.waited = settings_.early ? 0 : ~Mask{0};
  warp.pc = {};
  warp.order = {};
  warp.predicates.resize(kernel_.rows[0]);
  warp.narrow.resize(kernel_.rows[1]);
  warp.wide.resize(kernel_.rows[2]);
  for (unsigned kind = 0; kind < 3; ++kind) warp.known[kind].assign(kernel_.rows[kind], 0);
  for (const auto& [place, bits] : kernel_.constants) {
    if (place.kind == Kind::predicate) warp.predicates[place.row] = Mask(bits);
    if (place.kind == Kind::narrow) warp.narrow[place.row].fill(std::uint32_t(bits));
    if (place.kind == Kind::wide) warp.wide[place.row].fill(bits);
    warp.known[std::size_t(place.kind)][place.row] = ~Mask{0};
  }
}

/// False when all threads of the block have ended.
bool Interpreter::run_some(Block& block) {
  const auto can_run = [](const Warp& w) { return (w.live & ~w.at_barrier) != 0; };
  const auto lives = [](const Warp& w) { return w.live != 0; };
  const auto count = std::size_t(std::count_if(block.warps.begin(), block.warps.end(), can_run));
  if (count == 0) {
    if (std::none_of(block.warps.begin(), block.warps.end(), lives)) return false;
    release_barrier(block);
    return true;
  }
  std::size_t chosen = random_() % count;
  for (Warp& warp : block.warps) {
    if (!can_run(warp) || chosen-- != 0) continue;
    run_warp(warp, 1U << (random_() % 10));
    break;
  }
  return true;
}

/// All threads that have not ended are there.
void Interpreter::release_barrier(Block& block) {
  std::vector<WarpOrder*> orders;
  for (Warp& warp : block.warps) {
    orders.push_back(&warp.order);
    if (warp.live == 0) continue;
    pc_ = warp.pc[unsigned(std::countr_zero(warp.live))];
    each_lane(warp.live, [&](unsigned lane) {
      if (warp.pc[lane] != pc_) report("threads of a warp are at different barriers");
    });
    warp.at_barrier = 0;
  }
  GlobalOrder::pass_barrier(block.order, orders);
}

void Interpreter::run_warp(Warp& warp, unsigned instructions) {
  warp_ = &warp;
  group_ = 0;
  for (; instructions != 0; --instructions) {
    if (group_ == 0) {
      if ((warp.live & ~warp.at_barrier) == 0) return;
      choose_group();
      if (group_ == 0) return;
    }
    const std::uint32_t pc = pc_;
    const Instruction& i = kernel_.code[pc];
    if (i.is_target && group_ != warp.ready()) {  // others may be here
      keep_group();
      choose_group();
      if (pc_ != pc) continue;
    }
    outcome_.executed[pc] = true;
    ++pc_;
    Mask active = group_;
    if (i.guard != kNone) {
      const Mask p = warp.predicates[i.guard];
      if ((group_ & ~warp.known[0][i.guard]) != 0) report("a predicate is read, but not written");
      active &= i.guard_negated ? ~p : p;
    }
    outcome_.instructions += unsigned(std::popcount(active));
    i.step(*this, i, active);
  }
  keep_group();
}

void Interpreter::keep_group() {
  each_lane(group_, [&](unsigned lane) { warp_->pc[lane] = pc_; });
}

/// Often those that have come least far, so that they meet the others again; at times any.
void Interpreter::choose_group() {
  Warp& warp = *warp_;
  Mask ready = warp.ready();
  group_ = 0;
  if (ready == 0) {
    ready = std::exchange(warp.at_shuffle, 0);
    if (ready == 0) return;
    pc_ = warp.pc[unsigned(std::countr_zero(ready))] + 1;
    report("threads wait for others of their warp that do not come");
    warp.live &= ~ready;
    return;
  }
  pc_ = warp.pc[unsigned(std::countr_zero(ready))];
  const bool any = random_() % 4 == 0;
  each_lane(ready, [&](unsigned lane) {
    if (any ? random_() % 4 == 0 : warp.pc[lane] < pc_) pc_ = warp.pc[lane];
  });
  each_lane(ready, [&](unsigned lane) { group_ |= Mask(warp.pc[lane] == pc_) << lane; });
}

/// Of the instruction that runs; what follows from it is not reported.
void Interpreter::report(const std::string& what) {
  const std::size_t pc = pc_ == 0 ? 0 : pc_ - 1;
  if (reported_[pc]) return;
  reported_[pc] = true;
  if (outcome_.findings.empty()) until_first_finding_ = outcome_.instructions;
  outcome_.findings.push_back({what, kernel_.name, kernel_.describe(pc)});
}

void Interpreter::check_known(const Instruction& i, Mask active) {
  for (unsigned k = 0; k < i.reads; ++k)
    if ((active & ~warp_->known_at(i.from[k])) != 0) report("a register is read, but not written");
}

bool Interpreter::may_access(std::uintptr_t address, std::size_t bytes) {
  if ((address & (bytes - 1)) != 0) {
    report("an address is not aligned to " + std::to_string(bytes) + " bytes");
    return false;
  }
  const auto holds = [&](const Range& r) { return address >= r.begin && address + bytes <= r.end; };
  if (last_memory_ < memory_.size() && holds(memory_[last_memory_])) return true;
  const auto found = std::find_if(memory_.begin(), memory_.end(), holds);
  last_memory_ = std::size_t(found - memory_.begin());
  if (found != memory_.end()) return true;
  const auto range = settings_.find_memory(address);
  if (!range || !holds(*range)) {
    report(range ? "an access crosses the end of its memory" : "an address is of no memory");
    return false;
  }
  memory_.push_back(*range);
  return true;
}

}  // namespace rueda::ptx
