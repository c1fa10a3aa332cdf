#include "hierarchical_all_reduce.hpp"

#include <algorithm>

#include "fixed_order_all_reduce.hpp"
#include "fixed_reduce_scatter.hpp"
#include "ring_all_reduce.hpp"

namespace rueda {
namespace {

constexpr std::size_t kFixedScratch = FixedOrderAllReduce::kScratchElements;

/// The groups inside hosts come first; ranks without a shard are groups of one, behind them.
Communicator inside_of(Communicator& world, const HostLayout& layout) {
  const int rank = world.rank();
  const bool shares = layout.place_of(rank) < layout.fewest();
  return world.split(shares ? layout.host_of(rank) : layout.hosts() + rank, rank);
}

Communicator across_of(Communicator& world, const HostLayout& layout) {
  const int rank = world.rank();
  const int place = layout.place_of(rank);
  return world.split(place < layout.fewest() ? place : layout.fewest() + rank, rank);
}

}  // namespace

HierarchicalAllReduce::HierarchicalAllReduce(Communicator& world, ReduceDevice& device,
                                             const HostLayout& layout, HierarchicalParts parts)
    : device_(device),
      place_(layout.place_of(world.rank())),
      shards_(layout.fewest()),
      inside_(inside_of(world, layout)),
      across_(across_of(world, layout)),
      between_all_(parts.exchange(world)),
      between_inside_(parts.exchange(inside_)),
      sum_across_(parts.across(across_)),
      segment_(parts.segment),
      fixed_order_(parts.fixed_order) {
  const auto& host = layout.ranks_on(layout.host_of(world.rank()));
  const auto all = static_cast<int>(host.size());
  const auto rank_at = [&](int place) { return host[static_cast<std::size_t>(place)]; };
  if (!has_shard()) partner_ = rank_at(place_ % shards_);
  for (int p = place_ + shards_; has_shard() && p < all; p += shards_)
    guests_.push_back(rank_at(p));
}

std::size_t HierarchicalAllReduce::scratch_floats(std::size_t length) const {
  if (!has_shard()) return 0;
  const RingPlan plan = plan_of(length);
  const std::size_t inside = fixed_order_ ? fixed_scratch_floats(length, plan.size, kFixedScratch)
                                          : ring_scratch_floats(length, plan.size, segment_);
  const std::size_t across = sum_across_->scratch_floats(plan.chunk(plan.owned()).size());
  return std::max({guests_.empty() ? 0 : length, inside, across});
}

std::size_t HierarchicalAllReduce::kept_floats(std::size_t length) const {
  const RingPlan plan = plan_of(length);
  return has_shard() ? sum_across_->kept_floats(plan.chunk(plan.owned()).size()) : 0;
}

Event HierarchicalAllReduce::sum_by(SumAcross across, std::span<float> slice, Event ready) {
  if (between_all_->size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  if (!has_shard()) {
    leave_to_partner(slice);
    return {};
  }
  take_in(slice);
  const RingPlan plan = plan_of(slice.size());
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
  const int other = between_all_->world_rank(partner_);
  journal().transfer("hand over", 0, other, -1,
                     [&] { between_all_->sendrecv(slice, partner_, {}, partner_); });
  journal().transfer("hand back", 0, -1, other,
                     [&] { between_all_->sendrecv({}, partner_, slice, partner_); });
}

void HierarchicalAllReduce::take_in(std::span<float> slice) {
  for (const int guest : guests_) {
    const auto incoming = device_.scratch(slice.size()).first(slice.size());
    journal().transfer("hand over", 0, -1, between_all_->world_rank(guest),
                       [&] { between_all_->sendrecv({}, guest, incoming, guest); });
    journal().add("hand over", 0, [&] {
      device_.add(slice, incoming);
      device_.wait(device_.record_own());
    });
  }
}

void HierarchicalAllReduce::give_back(std::span<float> slice) {
  for (const int guest : guests_) {
    journal().transfer("hand back", 0, between_all_->world_rank(guest), -1,
                       [&] { between_all_->sendrecv(slice, guest, {}, guest); });
  }
}

}  // namespace rueda
