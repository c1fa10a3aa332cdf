#pragma once

#include <cstddef>
#include <vector>

namespace rueda {

/// Which ranks share a host, as the hierarchical all-reduce sees it. Hosts are
/// numbered from 0 in the order of their first ranks.
class HostLayout {
 public:
  /// Rank r is on host `host_of_rank[r]`: any whole numbers, for example those
  /// of Communicator::node_leader.
  explicit HostLayout(const std::vector<int>& host_of_rank);

  int hosts() const noexcept { return int(ranks_.size()); }
  int host_of(int rank) const { return host_of_.at(std::size_t(rank)); }
  /// The ranks on a host, ascending.
  const std::vector<int>& ranks_on(int host) const { return ranks_.at(std::size_t(host)); }
  /// The number of `rank` among those of its host.
  int local_rank_of(int rank) const;
  /// Ranks of the host that has fewest, and of the one that has most.
  int fewest() const noexcept;
  int most() const noexcept;

  /// Whether ranks are dealt host by host.
  bool in_blocks() const noexcept;

  /// Whether sums inside each host, then between hosts, each along TreeOrder,
  /// are the tree over all ranks: on one host; or if each has the same power of
  /// two of ranks, and they follow each other.
  bool keeps_tree_order() const noexcept;

 private:
  std::vector<int> host_of_;
  std::vector<std::vector<int>> ranks_;
};

}  // namespace rueda
