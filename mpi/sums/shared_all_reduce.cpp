#include "shared_all_reduce.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "rueda/core/error.hpp"
#include "rueda/reduce/ring_plan.hpp"

// The shared window, in words.
//
// Each rank counts its meetings in a flag that all can see. A rank has come to meeting m when its
// flag is m or more; it goes on when all flags are.
//
// A slice of the arena takes two meetings. At the first, all slices are ready. Then rank r sums
// chunk r of all arenas and writes it into all of them; no other rank reads or writes that chunk.
// At the second, all chunks are written.
//
// Through mailboxes it takes one. A rank writes its values into its mailbox, meets, and reads the
// mailboxes of all. It may go on and write the next values while others still read these: so there
// are two mailboxes, which take turns. Writing again into the same one is safe, because before that
// it was at a meeting in between, to which every rank came after it had read. The same holds for
// the offers, which name the slice that a rank is about to sum.

namespace rueda {

SharedAllReduce::SharedAllReduce(const Communicator& ranks, ReduceDevice& device,
                                 std::size_t arena_floats, std::size_t mailbox_floats)
    : ranks_(ranks),
      device_(device),
      window_(ranks, arena_floats, mailbox_floats),
      from_(std::size_t(ranks.size())),
      to_(std::size_t(ranks.size())),
      mailbox_floats_(mailbox_floats) {}

Event SharedAllReduce::sum(std::span<float> slice, Event ready) {
  if (ranks_.size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  if (slice.size() > std::min(kShortFloats, mailbox_floats_) && in_arena(slice)) {
    sum_in_place(slice);
    return {};
  }
  for (std::size_t begin = 0; begin < slice.size(); begin += mailbox_floats_) {
    sum_by_mailbox(slice.subspan(begin, std::min(mailbox_floats_, slice.size() - begin)));
  }
  return {};
}

bool SharedAllReduce::in_arena(std::span<const float> slice) const {
  const auto arena = window_.arena(ranks_.rank());
  return std::less_equal<>()(arena.data(), slice.data()) &&
         std::less_equal<>()(slice.data() + slice.size(), arena.data() + arena.size());
}

void SharedAllReduce::sum_in_place(std::span<float> slice) {
  const auto offset = std::size_t(slice.data() - window_.arena(ranks_.rank()).data());
  meet({offset, slice.size()});
  journal().add("shared", 0, [&] {
    const Range chunk = RingPlan{slice.size(), ranks_.rank(), ranks_.size()}.chunk(ranks_.rank());
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const auto i = std::size_t(rank);
      from_[i] = to_[i] = window_.arena(rank).data() + offset + chunk.begin;
    }
    device_.sum_all(from_, to_, chunk.size());
  });
  window_.flag(ranks_.rank()).raise(++round_);
  wait_for_all();
}

void SharedAllReduce::sum_by_mailbox(std::span<float> block) {
  const std::size_t turn = (round_ + 1) % 2;
  std::copy(block.begin(), block.end(), window_.mailbox(ranks_.rank(), turn).begin());
  meet({SharedWindow::kMailbox, block.size()});
  journal().add("shared", 0, [&] {
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      from_[std::size_t(rank)] = window_.mailbox(rank, turn).data();
    }
    to_[0] = block.data();
    device_.sum_all(from_, std::span(to_).first(1), block.size());
  });
}

void SharedAllReduce::meet(const Offer& mine) {
  ++round_;
  const std::size_t turn = round_ % 2;
  window_.offer(ranks_.rank(), turn) = mine;
  window_.flag(ranks_.rank()).raise(round_);
  wait_for_all();
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

void SharedAllReduce::wait_for_all() {
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    SequenceFlag& flag = window_.flag(rank);
    if (flag.reached_soon(round_)) continue;
    journal().transfer("shared", 0, -1, ranks_.world_rank(rank), [&] { flag.await(round_); });
  }
}

}  // namespace rueda
