#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// A block of each rank's device memory, mapped by all ranks (CUDA IPC). A
/// pointer into a peer's block is for the device alone, which reads and writes
/// there over its link to the peer's.
class PeerMemory {
 public:
  /// Collective. `ranks`, more than one, share one host; each block has `floats`,
  /// zeroed. Keeps `ranks` and `device`, which outlive it. Throws InputError,
  /// alike on all ranks, where the system lets one of them not map another.
  PeerMemory(RankGroup& ranks, ReduceDevice& device, std::size_t floats);
  /// Collective, like what made it: no block goes before its mappings. Where an
  /// error unwinds, no rank waits for another.
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  float* block(int rank) const { return blocks_[std::size_t(rank)].get(); }

 private:
  void make_own(std::size_t floats, PeerHandle& handle);
  void map(int rank, const PeerHandle& theirs);
  void give_up();

  RankGroup& ranks_;
  ReduceDevice& device_;
  int uncaught_ = 0;                              ///< exceptions in flight when it was made
  std::shared_ptr<float[]> own_;                  ///< this rank's
  std::vector<std::shared_ptr<float[]>> blocks_;  ///< by rank
};

}  // namespace rueda
