#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "mpi/sums/peer_memory.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// A number that one process counts up and others wait for, in memory that they
/// share. Zeroed memory is a flag at 0. A waiting process spins for a moment,
/// then lets others have its core, then sleeps: more ranks than cores do not
/// burn what they wait for. What was written before `raise` is seen after
/// `await`.
struct SequenceFlag {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};

  /// By its owner: the value becomes `to`.
  void raise(std::uint32_t to) noexcept;
  /// Whether `target` has been reached. Counts in a circle: below 2^31 apart.
  bool reached(std::uint32_t target) const noexcept {
    return std::int32_t(value.load(std::memory_order_acquire) - target) >= 0;
  }
  /// Spins for about a microsecond; whether the target was reached.
  bool reached_soon(std::uint32_t target) const noexcept;
  void await(std::uint32_t target) noexcept;
};

/// Memory of all ranks of a host that each of them reads and writes (MPI-3
/// shared memory). Each rank has a part of its own: a flag, and floats.
class SharedWindow {
 public:
  /// The slice that a rank is about to sum, for the other ranks, which check
  /// that it is theirs, too.
  struct Offer {
    std::size_t offset = 0;  ///< in the arena, or kMailbox
    std::size_t length = 0;
    bool operator==(const Offer&) const = default;
  };
  static constexpr std::size_t kMailbox = std::size_t(-1);

  /// Collective over `ranks`, which share one host. All give the same number of
  /// floats. Memory is zeroed. Throws RunError.
  SharedWindow(const Communicator& ranks, std::size_t floats);
  /// Collective, like what made it; where an error unwinds, the window is left
  /// to MPI's end, because this rank may be the only one that met it.
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// Bytes that `ranks` ranks take from the host's shared memory.
  static std::size_t bytes(int ranks, std::size_t floats);

  /// They begin on a page.
  float* floats(int rank) const;
  /// `turn` is 0 or 1.
  Offer& offer(int rank, std::size_t turn) const { return head(rank).offers[turn]; }
  SequenceFlag& flag(int rank) const { return head(rank).flag; }

 private:
  /// One cache line, which brings the offer with the flag.
  struct alignas(64) Head {
    SequenceFlag flag;
    std::array<Offer, 2> offers;
  };
  Head& head(int rank) const;

  MPI_Win window_ = MPI_WIN_NULL;
  int uncaught_ = 0;               ///< exceptions in flight when it was made
  std::vector<std::byte*> parts_;  ///< by rank
};

/// Bytes that the host's shared memory has left; 0: unknown.
std::size_t free_shared_memory();

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
  Event sum(std::span<float> slice, Event ready) override;
  /// Empty for one rank on a GPU, which has no peer.
  std::span<float> arena() override;

 private:
  using Offer = SharedWindow::Offer;

  /// A rank's part: two mailboxes, then its arena, from a page on.
  float* mailbox_of(int rank, std::size_t turn) const;
  float* arena_of(int rank) const;

  void sum_in_place(std::span<float> slice);
  void sum_by_mailbox(std::span<float> block);
  /// Publishes `mine`, waits for the offers of all, and checks that these are the same.
  void meet(const Offer& mine);
  /// Waits until all have come as far as this rank.
  void wait_for_all();

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
