#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "message_sums.hpp"

namespace rueda {

/// Which ranks share a host, as the hierarchical all-reduce sees it. Hosts are
/// numbered from 0 in the order of their first ranks.
class HostLayout {
 public:
  /// Collective: as MPI_Comm_split_type says.
  static HostLayout of(Communicator& ranks);
  /// An invented one, for tests: rank r is on host `host_of_rank[r]`; any whole numbers.
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

  /// Whether sums inside each host, then between hosts, each along TreeOrder,
  /// are the tree over all ranks: on one host; or if each has the same power of
  /// two of ranks, and they follow each other.
  bool keeps_tree_order() const noexcept;

 private:
  std::vector<int> host_of_;
  std::vector<std::vector<int>> ranks_;
};

/// What a HierarchicalAllReduce is made of.
struct HierarchicalParts {
  /// How memory moves between the ranks of a group.
  std::function<std::unique_ptr<Exchange>(Communicator&)> exchange;
  /// The sum between hosts: one rank of each, on a shard.
  std::function<std::unique_ptr<AllReduce>(Communicator&)> across;
  std::size_t segment = 0;   ///< floats, of the ring inside a host; 0: whole chunks
  bool fixed_order = false;  ///< inside a host: along TreeOrder instead of round the ring
};

/// For several hosts of several ranks each, between which links are slower than
/// inside: a reduce-scatter inside each host leaves each rank a shard summed
/// over its host; ranks of equal number sum their shards between hosts; an
/// all-gather inside each host ends it. So each shard goes round the hosts
/// once, while the flat ring carries the whole slice over each link.
///
/// The host with fewest ranks says how many shards there are. A rank beyond
/// them on another host hands its whole slice to one that has a shard, and gets
/// the sums back from it.
class HierarchicalAllReduce final : public MessageAllReduce {
 public:
  /// Collective. Keeps `world` and `device`; both outlive it.
  HierarchicalAllReduce(Communicator& world, ReduceDevice& device, const HostLayout& layout,
                        HierarchicalParts parts);

  std::string_view name() const override { return "hierarchical"; }
  std::string details() const override {
    return std::to_string(shards_) + " shards a bucket, " + sum_across_->details();
  }
  std::size_t scratch_floats(std::size_t length) const override;
  std::size_t kept_floats(std::size_t length) const override;
  std::vector<std::span<float>> carried() override { return sum_across_->carried(); }

 private:
  void add_up(std::span<float> slice, bool exactly) override;
  bool has_shard() const { return local_ < shards_; }
  RingPlan plan_inside(std::size_t length) const {
    return {length, inside_.rank(), inside_.size()};
  }
  void reduce_scatter(const RingPlan& plan, std::span<float> slice);

  int local_;   ///< of this rank on its host
  int shards_;  ///< ranks of a host that have one
  Communicator inside_;
  Communicator across_;
  std::unique_ptr<Exchange> between_inside_;
  std::unique_ptr<AllReduce> sum_across_;
  int partner_ = -1;         ///< of a rank without a shard
  std::vector<int> guests_;  ///< ranks without one that this rank adds for
  std::size_t segment_;
  bool fixed_order_;
};

}  // namespace rueda
