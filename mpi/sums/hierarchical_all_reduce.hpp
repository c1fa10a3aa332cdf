#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/sums/host_layout.hpp"
#include "mpi/sums/message_all_reduce.hpp"
#include "reduce/reduce_journal.hpp"

namespace rueda {

/// What a HierarchicalAllReduce is made of.
struct HierarchicalParts {
  const char* name = "hierarchical";  ///< a literal; it says how hosts sum
  std::unique_ptr<Exchange> world;    ///< between all ranks
  /// Collective over all: between the ranks that give the same `color`, in their order.
  std::function<std::unique_ptr<Exchange>(int color)> split;
  /// The sum between hosts: one rank of each, on a shard.
  std::function<std::unique_ptr<AllReduce>(std::unique_ptr<Exchange>)> across;
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
  /// Collective. Keeps `device`, which outlives it.
  HierarchicalAllReduce(ReduceDevice& device, const HostLayout& layout, HierarchicalParts parts);

  std::string_view name() const override { return name_; }
  std::string details() const override;
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  /// The slice of a rank without a shard goes to the one that adds it, and comes back.
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;
  bool has_shard() const { return local_ < shards_; }
  /// Groups of ranks with a shard come first, as `group` numbers them; ranks
  /// without are groups of one, after all `groups`.
  int color_of(int group, int groups) const {
    return has_shard() ? group : groups + ranks_->rank();
  }
  RingPlan plan_inside(std::size_t length) const {
    return {length, inside_->rank(), inside_->size()};
  }
  void take_guests(const SumPlace& place, std::span<float> slice);
  void reduce_scatter(const SumPlace& inside, std::span<float> slice);
  /// Between hosts.
  void sum_shard(std::span<float> shard, bool exactly, ReduceJournal& journal);

  const char* name_;
  int local_;   ///< of this rank on its host
  int shards_;  ///< ranks of a host that have one
  std::unique_ptr<Exchange> inside_;
  std::unique_ptr<AllReduce> sum_across_;
  int partner_ = -1;         ///< of a rank without a shard
  std::vector<int> guests_;  ///< ranks without one that this rank adds for
  std::size_t segment_;
  bool fixed_order_;
};

}  // namespace rueda
