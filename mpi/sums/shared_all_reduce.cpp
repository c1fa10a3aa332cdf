#include "mpi/sums/shared_all_reduce.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.hpp"
#include "reduce/ring_plan.hpp"

namespace rueda {
namespace {

/// Where the arena begins in a rank's floats, behind the mailboxes.
std::size_t arena_begin(std::size_t mailbox) {
  return SharedWindow::page_rounded(2 * mailbox * sizeof(float)) / sizeof(float);
}

std::size_t part_floats(std::size_t arena, std::size_t mailbox) {
  return arena_begin(mailbox) + arena;
}

/// Of them, those that lie in the window.
std::size_t window_floats(const ReduceDevice& device, std::size_t arena, std::size_t mailbox) {
  if (!device.memory_is_on_host()) return 0;
  return part_floats(arena, mailbox);
}

/// None where the window does it, and where there is no peer.
std::unique_ptr<PeerMemory> map_peers(RankGroup& ranks, ReduceDevice& device, std::size_t floats) {
  if (device.memory_is_on_host() || ranks.size() == 1) return nullptr;
  return std::make_unique<PeerMemory>(ranks, device, floats);
}

}  // namespace

// The sums, in words.
//
// Each rank counts its meetings in a flag that all can see. A rank has come to
// meeting m when its flag is m or more; it goes on when all flags are.
//
// A slice of the arena takes two meetings. At the first, all slices are ready.
// Then rank r sums chunk r of all arenas and writes it into all of them; no
// other rank reads or writes that chunk. At the second, all chunks are written.
//
// Through mailboxes it takes one. A rank writes its values into its mailbox,
// meets, and reads the mailboxes of all. It may go on and write the next values
// while others still read these: so there are two mailboxes, which take turns.
// Writing again into the same one is safe, because before that it was at a
// meeting in between, to which every rank came after it had read. The same
// holds for the offers, which name the slice that a rank is about to sum.
//
// On GPUs, ranks meet on the host. A rank raises its flag when the host has seen
// the end of all its device's work on the slice: then what that wrote is in
// memory, of whichever GPU. A peer begins to read after it has seen the flag, by
// a kernel that it queues then. So no kernel waits for another one, and no GPU
// has to be there for a peer to go on: two ranks may share one.

SharedAllReduce::SharedAllReduce(Communicator& ranks, ReduceDevice& device,
                                 std::size_t arena_floats, std::size_t mailbox_floats)
    : ranks_(ranks),
      device_(device),
      arena_floats_(arena_floats),
      mailbox_floats_(mailbox_floats),
      short_floats_(device.memory_is_on_host() ? std::min(kShortFloats, mailbox_floats) : 0),
      peers_(map_peers(ranks, device, part_floats(arena_floats, mailbox_floats))),
      window_(ranks, window_floats(device, arena_floats, mailbox_floats)),
      from_(std::size_t(ranks.size())),
      to_(std::size_t(ranks.size())) {
  for (int rank = 0; rank < ranks.size(); ++rank)
    parts_.push_back(peers_ ? peers_->block(rank) : window_.floats(rank));
}

std::size_t SharedAllReduce::window_bytes(int ranks, const ReduceDevice& device,
                                          std::size_t arena_floats) {
  return SharedWindow::bytes(ranks, window_floats(device, arena_floats, kMailboxFloats));
}

std::span<float> SharedAllReduce::arena() {
  if (!peers_ && !device_.memory_is_on_host()) return {};  // one rank
  return {arena_of(ranks_.rank()), arena_floats_};
}

float* SharedAllReduce::mailbox_of(int rank, std::size_t turn) const {
  return parts_[std::size_t(rank)] + turn * mailbox_floats_;
}

float* SharedAllReduce::arena_of(int rank) const {
  return parts_[std::size_t(rank)] + arena_begin(mailbox_floats_);
}

Event SharedAllReduce::sum(std::span<float> slice, Event ready, ReduceJournal& journal) {
  if (ranks_.size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  if (slice.size() > short_floats_ && lies_in(slice, arena())) {
    sum_in_place(slice, journal);
    return {};
  }
  for (std::size_t begin = 0; begin < slice.size(); begin += mailbox_floats_)
    sum_by_mailbox(slice.subspan(begin, std::min(mailbox_floats_, slice.size() - begin)), journal);
  return {};
}

void SharedAllReduce::sum_in_place(std::span<float> slice, ReduceJournal& journal) {
  const auto offset = std::size_t(slice.data() - arena().data());
  meet({offset, slice.size()}, journal);
  {
    const auto entry = journal.add("shared", 0);
    const Range chunk = RingPlan{slice.size(), ranks_.rank(), ranks_.size()}.chunk(ranks_.rank());
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const auto i = std::size_t(rank);
      from_[i] = to_[i] = arena_of(rank) + offset + chunk.begin;
    }
    device_.sum_all(from_, to_, chunk.size());
  }
  ++round_;
  come_and_wait(false, journal);
}

void SharedAllReduce::sum_by_mailbox(std::span<float> block, ReduceJournal& journal) {
  const std::size_t turn = (round_ + 1) % 2;
  device_.copy({mailbox_of(ranks_.rank(), turn), block.size()}, block);
  device_.wait(device_.record_own());
  meet({SharedWindow::kMailbox, block.size()}, journal);
  const auto entry = journal.add("shared", 0);
  for (int rank = 0; rank < ranks_.size(); ++rank)
    from_[std::size_t(rank)] = mailbox_of(rank, turn);
  to_[0] = block.data();
  device_.sum_all(from_, std::span(to_).first(1), block.size());
}

void SharedAllReduce::meet(const Offer& mine, ReduceJournal& journal) {
  ++round_;
  const std::size_t turn = round_ % 2;
  window_.offer(ranks_.rank(), turn) = mine;
  come_and_wait(mine.offset == SharedWindow::kMailbox, journal);
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (window_.offer(rank, turn) == mine) continue;
    throw RunError(
        fmt::format("rank {} sums {} floats and rank {} {}, or another part of the gradients: the "
                    "ranks are not "
                    "at the same step",
                    ranks_.world_rank(ranks_.rank()), mine.length, ranks_.world_rank(rank),
                    window_.offer(rank, turn).length));
  }
}

void SharedAllReduce::come_and_wait(bool by_mailbox, ReduceJournal& journal) {
  SequenceFlag& mine = window_.flag(ranks_.rank());
  mine.set(round_);
  bool all = true;
  for (int rank = 0; rank < ranks_.size() && all; ++rank) {
    const float* mailbox = by_mailbox ? mailbox_of(rank, round_ % 2) : nullptr;
    all = window_.flag(rank).reached_soon(round_, window_.crowded(), mailbox);
  }
  mine.wake();
  for (int rank = 0; rank < ranks_.size() && !all; ++rank) {
    SequenceFlag& flag = window_.flag(rank);
    if (flag.reached(round_)) continue;
    const auto entry = journal.transfer("shared", 0, -1, ranks_.world_rank(rank));
    flag.await(round_, window_.crowded());
  }
}

}  // namespace rueda
