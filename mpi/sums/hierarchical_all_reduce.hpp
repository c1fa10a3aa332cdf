#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fixed_order_all_reduce.hpp"
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
                        HierarchicalParts parts)
      : MessageAllReduce(parts.exchange(world), device),
        local_(layout.local_rank_of(world.rank())),
        shards_(layout.fewest()),
        inside_(split(world, layout.host_of(world.rank()), layout.hosts())),
        across_(split(world, local_, shards_)),
        between_inside_(parts.exchange(inside_)),
        sum_across_(parts.across(across_)),
        segment_(parts.segment),
        fixed_order_(parts.fixed_order) {
    const auto& host = layout.ranks_on(layout.host_of(world.rank()));
    const auto all = int(host.size());
    const auto rank_at = [&](int local) { return host[std::size_t(local)]; };
    if (!has_shard()) partner_ = rank_at(local_ % shards_);
    for (int p = local_ + shards_; has_shard() && p < all; p += shards_)
      guests_.push_back(rank_at(p));
  }

  std::string_view name() const override { return "hierarchical"; }
  std::string details() const override {
    return std::to_string(shards_) + " shards a bucket, " + sum_across_->details();
  }
  std::size_t scratch_floats(std::size_t length) const override {
    if (!has_shard()) return 0;
    const RingPlan plan = plan_inside(length);
    const std::size_t inside = fixed_order_ ? fixed_scratch_floats(length, plan.size, kFixedScratch)
                                            : ring_scratch_floats(length, plan.size, segment_);
    const std::size_t across = sum_across_->scratch_floats(plan.chunk(plan.owned()).size());
    return std::max({guests_.empty() ? 0 : length, inside, across});
  }
  std::size_t kept_floats(std::size_t length) const override {
    const RingPlan plan = plan_inside(length);
    return has_shard() ? sum_across_->kept_floats(plan.chunk(plan.owned()).size()) : 0;
  }
  std::vector<std::span<float>> carried() override { return sum_across_->carried(); }

 private:
  /// The slice of a rank without a shard goes to the one that adds it, and comes back.
  void add_up(std::span<float> slice, bool exactly) override {
    if (!has_shard()) {
      exchange("hand over", 0, slice, partner_, {}, partner_);
      exchange("hand back", 0, {}, partner_, slice, partner_);
      return;
    }
    for (const int guest : guests_) {
      const auto incoming = device_.scratch(slice.size()).first(slice.size());
      exchange("hand over", 0, {}, guest, incoming, guest);
      add("hand over", 0, slice, incoming);
    }
    const RingPlan plan = plan_inside(slice.size());
    reduce_scatter(plan, slice);
    sum_across_->write_into(journal_);
    const auto shard = cut(slice, plan.chunk(plan.owned()));
    device_.wait(exactly ? sum_across_->sum_exactly(shard, {}) : sum_across_->sum(shard, {}));
    ring_all_gather(*between_inside_, plan, slice, journal());
    for (const int guest : guests_) exchange("hand back", 0, slice, guest, {}, guest);
  }
  bool has_shard() const { return local_ < shards_; }
  /// Groups of ranks with a shard come first, as `color` numbers them; ranks
  /// without are groups of one, after all `groups`.
  Communicator split(Communicator& world, int color, int groups) const {
    return world.split(has_shard() ? color : groups + world.rank(), world.rank());
  }
  RingPlan plan_inside(std::size_t length) const {
    return {length, inside_.rank(), inside_.size()};
  }
  void reduce_scatter(const RingPlan& plan, std::span<float> slice) {
    if (fixed_order_)
      fixed_reduce_scatter(*between_inside_, device_, plan, slice, kFixedScratch, journal());
    else if (plan.size > 1)
      ring_reduce_scatter(*between_inside_, device_, plan, slice, segment_, journal());
  }

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
