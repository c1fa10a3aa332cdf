#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/session/communicator.hpp"

namespace rueda {

/// A number that one process counts up and others wait for, in memory that they
/// share. Zeroed memory is a flag at 0. A waiting process spins for a moment,
/// then lets others have its core, then sleeps: more ranks than cores do not
/// burn what they wait for. What was written before `raise` is seen after
/// `await`.
struct SequenceFlag {
  std::atomic<std::uint32_t> value{0};
  std::atomic<std::uint32_t> sleepers{0};

  /// By its owner: the value becomes `to`. `wake` has to follow, and may do so after a look at
  /// other flags, which then does not wait until the others have lost this line.
  void set(std::uint32_t to) noexcept { value.store(to, std::memory_order_release); }
  void wake() noexcept;
  void raise(std::uint32_t to) noexcept {
    set(to);
    wake();
  }
  /// Whether `target` has been reached. Counts in a circle: below 2^31 apart.
  bool reached(std::uint32_t target) const noexcept {
    return std::int32_t(value.load(std::memory_order_acquire) - target) >= 0;
  }
  /// Spins for about a microsecond, unless the host is `crowded`; whether the target was reached.
  /// Memory at `near`, which was written before the flag, comes with it.
  bool reached_soon(std::uint32_t target, bool crowded, const void* near) const noexcept;
  void await(std::uint32_t target, bool crowded = false) noexcept;
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

  /// Parts begin on pages, so that each rank's memory lies near it and no two share a cache line.
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t page_rounded(std::size_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
  }

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
  /// Whether ranks outnumber the host's cores: one that spins keeps others from theirs.
  bool crowded() const { return crowded_; }

 private:
  /// One cache line, which brings the offer with the flag.
  struct alignas(64) Head {
    SequenceFlag flag;
    std::array<Offer, 2> offers;
  };
  Head& head(int rank) const;

  MPI_Win window_ = MPI_WIN_NULL;
  bool crowded_ = false;
  int uncaught_ = 0;               ///< exceptions in flight when it was made
  std::vector<std::byte*> parts_;  ///< by rank
};

/// Bytes that the host's shared memory has left; 0: unknown.
std::size_t free_shared_memory();

}  // namespace rueda
