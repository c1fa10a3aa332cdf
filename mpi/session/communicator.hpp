#pragma once

#include <climits>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "rueda/reduce/rank_group.hpp"

namespace rueda {

/// A group of ranks with a message space of its own: owns a duplicate of an MPI
/// communicator. All MPI traffic of the program goes through here, every return
/// code is checked (RunError), and every count is safe above what MPI's int can
/// hold.
class Communicator final : public RankGroup {
 public:
  /// Duplicates `origin`; collective over it. No single MPI call moves more
  /// than about `max_count` elements: longer spans go in pieces. Tests lower
  /// the limit to reach that.
  explicit Communicator(MPI_Comm origin = MPI_COMM_WORLD, std::size_t max_count = INT_MAX);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Rank and number of ranks among those that share this rank's memory, i.e. its node.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  /// The lowest rank of this group among those: its number identifies a node,
  /// whose name may not be unique.
  int node_leader() const { return node_leader_; }
  /// This rank's host.
  const std::string& host() const { return host_; }
  /// The number in MPI_COMM_WORLD of rank `rank` of this group.
  int world_rank(int rank) const { return world_ranks_.at(std::size_t(rank)); }

  /// For windows, which MPI makes of a group. Stays this object's.
  MPI_Comm handle() const { return *comm_; }

  /// Collective: a group for each `color`, not negative, its ranks in the order of `key`.
  Communicator split(int color, int key) const;

  /// Sends `send` to rank `to` while receiving exactly `receive.size()` floats
  /// from rank `from`. The two lengths may differ; a length of 0 sends no
  /// message at all. The memory must not overlap. Throws RunError if the peer
  /// sent another length.
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from);
  /// Collective, by MPI_Allreduce: data[i] becomes the sum over ranks.
  void all_reduce_sum(std::span<float> data);

  void barrier() override;
  void broadcast(std::span<std::byte> data, int root) override;
  std::vector<Bytes> all_gather(std::span<const std::byte> mine) override {
    return collect(mine, kEveryRank);
  }
  std::vector<Bytes> gather(std::span<const std::byte> mine, int root) override {
    return collect(mine, root);
  }
  /// By messages along a tree (compare_clocks).
  ClockOffset clock_offset() override;

 private:
  static constexpr int kEveryRank = -1;

  /// The bytes of all ranks on `root`, or on every rank if it is `kEveryRank`.
  std::vector<Bytes> collect(std::span<const std::byte> mine, int root);
  void note_node();
  void note_world_ranks();

  /// Frees the duplicate while MPI is active.
  struct Free {
    void operator()(MPI_Comm* comm) const noexcept;
  };

  std::unique_ptr<MPI_Comm, Free> comm_;
  std::size_t max_count_ = INT_MAX;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  int node_leader_ = 0;
  std::string host_;
  std::vector<int> world_ranks_;
};

}  // namespace rueda
