#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "sequence_flag.hpp"

namespace rueda {

/// Memory of all ranks of a host that each of them reads and writes (MPI-3 shared memory). Each
/// rank has a part of its own: a flag, an arena for gradients, and two mailboxes for what lies
/// elsewhere.
class SharedWindow {
 public:
  /// What a rank is about to sum: told to the others, who check that they are about the same.
  struct Offer {
    std::size_t offset = 0;  ///< in the arena, or kMailbox
    std::size_t length = 0;
    bool operator==(const Offer&) const = default;
  };
  static constexpr std::size_t kMailbox = static_cast<std::size_t>(-1);

  /// Collective over `ranks`, which share one host. All give the same sizes, in floats. Memory is
  /// zeroed. Throws RunError.
  SharedWindow(const Communicator& ranks, std::size_t arena, std::size_t mailbox);
  /// Collective, like what made it; where an error unwinds, the window is left to MPI's end,
  /// because this rank may be the only one that met it.
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
  struct Head {
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

/// Bytes that the host's shared memory has left; 0: the system does not tell.
std::size_t free_shared_memory();

}  // namespace rueda
