#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <vector>

#include "mpi/session/communicator.hpp"

namespace rueda {

/// Which ranks share a host, as the hierarchical all-reduce sees it. Hosts are
/// numbered from 0 in the order of their first ranks.
class HostLayout {
 public:
  /// Collective: as MPI_Comm_split_type says.
  static HostLayout of(Communicator& ranks) {
    return HostLayout(all_gather(ranks, ranks.node_leader()));
  }
  /// An invented one, for tests: rank r is on host `host_of_rank[r]`; any whole numbers.
  explicit HostLayout(const std::vector<int>& host_of_rank) {
    std::map<int, int> numbers;
    for (const int name : host_of_rank) {
      const int host = numbers.try_emplace(name, int(numbers.size())).first->second;
      if (host == hosts()) ranks_.emplace_back();
      ranks_[std::size_t(host)].push_back(int(host_of_.size()));
      host_of_.push_back(host);
    }
  }

  int hosts() const noexcept { return int(ranks_.size()); }
  int host_of(int rank) const { return host_of_.at(std::size_t(rank)); }
  /// The ranks on a host, ascending.
  const std::vector<int>& ranks_on(int host) const { return ranks_.at(std::size_t(host)); }
  /// The number of `rank` among those of its host.
  int local_rank_of(int rank) const {
    const auto& all = ranks_on(host_of(rank));
    return int(std::find(all.begin(), all.end(), rank) - all.begin());
  }
  /// Ranks of the host that has fewest, and of the one that has most.
  int fewest() const noexcept {
    return int(std::ranges::min_element(ranks_, {}, &std::vector<int>::size)->size());
  }
  int most() const noexcept {
    return int(std::ranges::max_element(ranks_, {}, &std::vector<int>::size)->size());
  }

  /// Whether sums inside each host, then between hosts, each along TreeOrder,
  /// are the tree over all ranks: on one host; or if each has the same power of
  /// two of ranks, and they follow each other.
  bool keeps_tree_order() const noexcept {
    if (hosts() == 1) return true;
    if (fewest() != most() || !std::has_single_bit(unsigned(most()))) return false;
    return std::is_sorted(host_of_.begin(), host_of_.end());
  }

 private:
  std::vector<int> host_of_;
  std::vector<std::vector<int>> ranks_;
};

}  // namespace rueda
