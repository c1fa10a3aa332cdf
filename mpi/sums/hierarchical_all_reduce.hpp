#pragma once

#include <functional>
#include <memory>

#include "host_layout.hpp"
#include "ring_all_reduce.hpp"

namespace rueda {

/// What a HierarchicalAllReduce is made of.
struct HierarchicalParts {
  /// How memory moves between the ranks of a group.
  std::function<std::unique_ptr<Exchange>(Communicator&)> exchange;
  /// The sum between hosts: one rank of each, on a shard.
  std::function<std::unique_ptr<AllReduce>(Communicator&)> across;
  std::size_t segment = 0;   ///< floats, of the ring inside a host; 0: whole chunks
  bool fixed_order = false;  ///< inside a host: along TreeOrder instead of round the ring
};

/// For several hosts of several ranks each, between which links are slower than inside: a
/// reduce-scatter inside each host leaves each rank a shard summed over its host; ranks of equal
/// number sum their shards between hosts; an all-gather inside each host ends it. So each shard
/// goes round the hosts once, while the flat ring carries the whole slice over each link.
///
/// The host with fewest ranks says how many shards there are. A rank beyond them on another host
/// hands its whole slice to one that has a shard, and gets the sums back from it.
class HierarchicalAllReduce final : public MessageAllReduce {
 public:
  /// Collective. Keeps `world` and `device`; both outlive it.
  HierarchicalAllReduce(Communicator& world, ReduceDevice& device, const HostLayout& layout,
                        HierarchicalParts parts);

  std::string_view name() const override { return "hierarchical"; }
  std::string details() const override {
    return std::to_string(shards_) + " shards a bucket, " + sum_across_->details();
  }
  Event sum(std::span<float> slice, Event ready) override {
    return sum_by(&AllReduce::sum, slice, ready);
  }
  Event sum_exactly(std::span<float> slice, Event ready) override {
    return sum_by(&AllReduce::sum_exactly, slice, ready);
  }
  std::size_t scratch_floats(std::size_t length) const override;
  std::size_t kept_floats(std::size_t length) const override;
  std::vector<std::span<float>> carried() override { return sum_across_->carried(); }

 private:
  using SumAcross = Event (AllReduce::*)(std::span<float>, Event);

  Event sum_by(SumAcross across, std::span<float> slice, Event ready);
  bool has_shard() const { return local_ < shards_; }
  RingPlan plan_inside(std::size_t length) const {
    return {length, inside_.rank(), inside_.size()};
  }
  /// The slice of a rank without a shard goes to the one that adds it, and comes back.
  void leave_to_partner(std::span<float> slice);
  void take_in(std::span<float> slice);
  void give_back(std::span<float> slice);
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
