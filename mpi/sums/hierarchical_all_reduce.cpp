#include "hierarchical_all_reduce.hpp"

#include <algorithm>

#include "fixed_order_all_reduce.hpp"

namespace rueda {
namespace {

constexpr std::size_t kFixedScratch = FixedOrderAllReduce::kScratchElements;

/// The groups inside hosts come first; ranks without a shard are groups of one, after them.
Communicator inside_of(Communicator& world, const HostLayout& layout) {
  const int rank = world.rank();
  const bool shares = layout.local_rank_of(rank) < layout.fewest();
  return world.split(shares ? layout.host_of(rank) : layout.hosts() + rank, rank);
}

Communicator across_of(Communicator& world, const HostLayout& layout) {
  const int rank = world.rank();
  const int local = layout.local_rank_of(rank);
  return world.split(local < layout.fewest() ? local : layout.fewest() + rank, rank);
}

}  // namespace

HierarchicalAllReduce::HierarchicalAllReduce(Communicator& world, ReduceDevice& device,
                                             const HostLayout& layout, HierarchicalParts parts)
    : MessageAllReduce(parts.exchange(world), device),
      local_(layout.local_rank_of(world.rank())),
      shards_(layout.fewest()),
      inside_(inside_of(world, layout)),
      across_(across_of(world, layout)),
      between_inside_(parts.exchange(inside_)),
      sum_across_(parts.across(across_)),
      segment_(parts.segment),
      fixed_order_(parts.fixed_order) {
  const auto& host = layout.ranks_on(layout.host_of(world.rank()));
  const auto all = static_cast<int>(host.size());
  const auto rank_at = [&](int local) { return host[static_cast<std::size_t>(local)]; };
  if (!has_shard()) partner_ = rank_at(local_ % shards_);
  for (int p = local_ + shards_; has_shard() && p < all; p += shards_)
    guests_.push_back(rank_at(p));
}

std::size_t HierarchicalAllReduce::scratch_floats(std::size_t length) const {
  if (!has_shard()) return 0;
  const RingPlan plan = plan_inside(length);
  const std::size_t inside = fixed_order_ ? fixed_scratch_floats(length, plan.size, kFixedScratch)
                                          : ring_scratch_floats(length, plan.size, segment_);
  const std::size_t across = sum_across_->scratch_floats(plan.chunk(plan.owned()).size());
  return std::max({guests_.empty() ? 0 : length, inside, across});
}

std::size_t HierarchicalAllReduce::kept_floats(std::size_t length) const {
  const RingPlan plan = plan_inside(length);
  return has_shard() ? sum_across_->kept_floats(plan.chunk(plan.owned()).size()) : 0;
}

Event HierarchicalAllReduce::sum_by(SumAcross across, std::span<float> slice, Event ready) {
  if (is_summed(slice)) return ready;
  device_.wait(ready);
  if (!has_shard()) {
    leave_to_partner(slice);
    return {};
  }
  take_in(slice);
  const RingPlan plan = plan_inside(slice.size());
  reduce_scatter(plan, slice);
  const Range shard = plan.chunk(plan.owned());
  sum_across_->write_into(journal());
  device_.wait(((*sum_across_).*across)(slice.subspan(shard.begin, shard.size()), {}));
  ring_all_gather(*between_inside_, plan, slice, journal());
  give_back(slice);
  return {};
}

void HierarchicalAllReduce::reduce_scatter(const RingPlan& plan, std::span<float> slice) {
  if (fixed_order_) {
    fixed_reduce_scatter(*between_inside_, device_, plan, slice, kFixedScratch, journal());
  } else if (plan.size > 1) {
    ring_reduce_scatter(*between_inside_, device_, plan, slice, segment_, journal());
  }
}

void HierarchicalAllReduce::leave_to_partner(std::span<float> slice) {
  exchange("hand over", 0, slice, partner_, {}, partner_);
  exchange("hand back", 0, {}, partner_, slice, partner_);
}

void HierarchicalAllReduce::take_in(std::span<float> slice) {
  for (const int guest : guests_) {
    const auto incoming = device_.scratch(slice.size()).first(slice.size());
    exchange("hand over", 0, {}, guest, incoming, guest);
    add("hand over", 0, slice, incoming);
  }
}

void HierarchicalAllReduce::give_back(std::span<float> slice) {
  for (const int guest : guests_) exchange("hand back", 0, slice, guest, {}, guest);
}

}  // namespace rueda
