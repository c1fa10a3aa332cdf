#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/session/communicator.hpp"
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
/// shared memory). Each rank has a part of its own: a flag, an arena for
/// gradients, and two mailboxes for slices elsewhere.
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

  /// Collective over `ranks`, which share one host. All give the same sizes, in
  /// floats. Memory is zeroed. Throws RunError.
  SharedWindow(const Communicator& ranks, std::size_t arena, std::size_t mailbox);
  /// Collective, like what made it; where an error unwinds, the window is left
  /// to MPI's end, because this rank may be the only one that met it.
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// Bytes that `ranks` ranks take from the host's shared memory.
  static std::size_t bytes(int ranks, std::size_t arena, std::size_t mailbox);

  std::span<float> arena(int rank) const;
  /// `turn` is 0 or 1.
  std::span<float> mailbox(int rank, std::size_t turn) const;
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
  int uncaught_ = 0;  ///< exceptions in flight when it was made
  std::size_t arena_;
  std::size_t mailbox_;
  std::vector<std::byte*> parts_;  ///< by rank
};

/// Bytes that the host's shared memory has left; 0: unknown.
std::size_t free_shared_memory();

/// For ranks of one host whose gradients are in host memory: no messages at
/// all. Each rank sums its chunk of the slice straight from the arenas of all
/// ranks, in the order of TreeOrder, and writes the sum into all of them: every
/// element is read once and written once by one rank, which is the least that
/// memory can do. Ranks wait for each other by flags in the window.
///
/// That is for slices of `arena()`. A slice that lies elsewhere, or is short,
/// goes through mailboxes: each rank puts a copy into its own, and adds up all
/// of them itself.
class SharedAllReduce final : public AllReduce {
 public:
  /// Floats of a mailbox.
  static constexpr std::size_t kMailboxFloats = 4096;
  /// Up to here, one meeting and all additions on every rank are quicker than
  /// two meetings and each addition once, for slices of the arena, too.
  static constexpr std::size_t kShortFloats = 256;

  /// Collective. `ranks` share one host; `device` has its memory there. Both outlive this.
  SharedAllReduce(const Communicator& ranks, ReduceDevice& device, std::size_t arena_floats,
                  std::size_t mailbox_floats = kMailboxFloats);

  std::string_view name() const override { return "shared"; }
  Event sum(std::span<float> slice, Event ready) override;
  std::span<float> arena() override { return window_.arena(ranks_.rank()); }

 private:
  using Offer = SharedWindow::Offer;

  void sum_in_place(std::span<float> slice);
  void sum_by_mailbox(std::span<float> block);
  /// Publishes `mine`, waits for the offers of all, and checks that these are the same.
  void meet(const Offer& mine);
  /// Waits until all have come as far as this rank.
  void wait_for_all();

  const Communicator& ranks_;
  ReduceDevice& device_;
  SharedWindow window_;
  std::uint32_t round_ = 0;  ///< meetings so far
  std::vector<const float*> from_;
  std::vector<float*> to_;
  std::size_t mailbox_floats_;
};

}  // namespace rueda
