#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "mpi/sums/peer_memory.hpp"
#include "mpi/sums/shared_window.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// For ranks of one host: no messages at all. Each rank sums its chunk of the
/// slice straight from the arenas of all ranks, in the order of TreeOrder, and
/// writes the sum into all of them: every element is read once and written once
/// by one rank, which is the least that memory can do. Ranks wait for each other
/// by flags in a window of host memory. Arenas lie there too, or in the memory
/// of GPUs, which map each other's (PeerMemory).
///
/// That is for slices of `arena()`. A slice that lies elsewhere, or is short,
/// goes through mailboxes: each rank puts a copy into its own, and adds up all
/// of them itself.
class SharedAllReduce final : public AllReduce {
 public:
  /// Floats of a mailbox.
  static constexpr std::size_t kMailboxFloats = 4096;
  /// Up to here, one meeting and all additions on every rank are quicker than
  /// two meetings and each addition once, for slices of the arena, too. On a
  /// GPU, where a copy costs as much as a meeting, they never are.
  static constexpr std::size_t kShortFloats = 256;

  /// Collective. `ranks` share one host, and have devices of one kind. Both
  /// outlive this. Throws InputError, alike on all ranks, where GPUs cannot map
  /// each other's memory.
  SharedAllReduce(Communicator& ranks, ReduceDevice& device, std::size_t arena_floats,
                  std::size_t mailbox_floats = kMailboxFloats);

  /// Bytes of the host's shared memory that it takes on all `ranks` ranks together.
  static std::size_t window_bytes(int ranks, const ReduceDevice& device, std::size_t arena_floats);

  std::string_view name() const override { return "shared"; }
  Event sum(std::span<float> slice, Event ready, ReduceJournal& journal) override;
  /// Empty for one rank on a GPU, which has no peer.
  std::span<float> arena() override;

 private:
  using Offer = SharedWindow::Offer;

  /// A rank's part: two mailboxes, then its arena, from a page on.
  float* mailbox_of(int rank, std::size_t turn) const;
  float* arena_of(int rank) const;

  void sum_in_place(std::span<float> slice, ReduceJournal& journal);
  void sum_by_mailbox(std::span<float> block, ReduceJournal& journal);
  /// Publishes `mine`, waits for the offers of all, and checks that these are the same.
  void meet(const Offer& mine, ReduceJournal& journal);
  /// Waits until all have come to this rank's meeting, which may be one about mailboxes.
  void come_and_wait(bool by_mailbox, ReduceJournal& journal);

  const Communicator& ranks_;
  ReduceDevice& device_;
  std::size_t arena_floats_;
  std::size_t mailbox_floats_;
  std::size_t short_floats_;           ///< kShortFloats, where that holds
  std::unique_ptr<PeerMemory> peers_;  ///< the parts, where memory is not the host's
  SharedWindow window_;                ///< flags; and the parts, where it is
  std::vector<float*> parts_;          ///< by rank
  std::uint32_t round_ = 0;            ///< meetings so far
  std::vector<const float*> from_;
  std::vector<float*> to_;
};

}  // namespace rueda
