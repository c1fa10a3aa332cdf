#include "mpi/sums/hierarchical_all_reduce.hpp"

#include <algorithm>
#include <utility>

#include "base/split.hpp"
#include "mpi/sums/fixed_order_all_reduce.hpp"
#include "mpi/sums/ring_all_reduce.hpp"

namespace rueda {

HierarchicalAllReduce::HierarchicalAllReduce(ReduceDevice& device, const HostLayout& layout,
                                             HierarchicalParts parts)
    : MessageAllReduce(std::move(parts.world), device),
      local_(layout.local_rank_of(ranks_->rank())),
      shards_(layout.fewest()),
      inside_(parts.split(color_of(layout.host_of(ranks_->rank()), layout.hosts()))),
      sum_across_(parts.across(parts.split(color_of(local_, shards_)))),
      segment_(parts.segment),
      fixed_order_(parts.fixed_order) {
  const auto& host = layout.ranks_on(layout.host_of(ranks_->rank()));
  const auto all = int(host.size());
  const auto rank_at = [&](int local) { return host[std::size_t(local)]; };
  if (!has_shard()) partner_ = rank_at(local_ % shards_);
  for (int p = local_ + shards_; has_shard() && p < all; p += shards_)
    guests_.push_back(rank_at(p));
}

std::string HierarchicalAllReduce::details() const {
  return std::to_string(shards_) + " shards a bucket, " + sum_across_->details();
}

std::size_t HierarchicalAllReduce::scratch_floats(std::size_t length) const {
  if (!has_shard()) return 0;
  const RingPlan plan = plan_inside(length);
  const std::size_t inside = fixed_order_ ? fixed_scratch_floats(length, plan.size, kFixedScratch)
                                          : ring_scratch_floats(length, plan.size, segment_);
  const std::size_t across = sum_across_->scratch_floats(plan.chunk(plan.owned()).size());
  return std::max({guests_.empty() ? 0 : length, inside, across});
}

void HierarchicalAllReduce::add_up(std::span<float> slice, bool exactly) {
  if (!has_shard()) {
    exchange({"hand over", 0}, {slice, partner_}, {});
    exchange({"hand back", 0}, {}, {slice, partner_});
    return;
  }
  take_guests(slice);
  const RingPlan plan = plan_inside(slice.size());
  reduce_scatter(plan, slice);
  sum_across_->write_into(journal_);
  const auto shard = cut(slice, plan.chunk(plan.owned()));
  device_.wait(exactly ? sum_across_->sum_exactly(shard, {}) : sum_across_->sum(shard, {}));
  ring_all_gather(*inside_, plan, slice, journal());
  for (const int guest : guests_) exchange({"hand back", 0}, {slice, guest}, {});
}

void HierarchicalAllReduce::take_guests(std::span<float> slice) {
  for (const int guest : guests_) {
    const auto incoming = device_.scratch(slice.size()).first(slice.size());
    exchange({"hand over", 0}, {}, {incoming, guest});
    add({"hand over", 0}, slice, incoming);
  }
}

void HierarchicalAllReduce::reduce_scatter(const RingPlan& plan, std::span<float> slice) {
  if (fixed_order_)
    fixed_reduce_scatter(*inside_, device_, plan, slice, kFixedScratch, journal());
  else if (plan.size > 1)
    ring_reduce_scatter(*inside_, device_, plan, slice, segment_, journal());
}

}  // namespace rueda
