#include "hierarchical_all_reduce.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace rueda {
namespace {

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

HostLayout HostLayout::of(Communicator& ranks) {
  return HostLayout(all_gather(ranks, ranks.node_leader()));
}

HostLayout::HostLayout(const std::vector<int>& host_of_rank) {
  std::map<int, int> numbers;
  for (const int name : host_of_rank) {
    const int host = numbers.try_emplace(name, int(numbers.size())).first->second;
    if (host == hosts()) ranks_.emplace_back();
    ranks_[std::size_t(host)].push_back(int(host_of_.size()));
    host_of_.push_back(host);
  }
}

int HostLayout::local_rank_of(int rank) const {
  const auto& all = ranks_on(host_of(rank));
  return int(std::find(all.begin(), all.end(), rank) - all.begin());
}

int HostLayout::fewest() const noexcept {
  return int(std::ranges::min_element(ranks_, {}, &std::vector<int>::size)->size());
}

int HostLayout::most() const noexcept {
  return int(std::ranges::max_element(ranks_, {}, &std::vector<int>::size)->size());
}

bool HostLayout::keeps_tree_order() const noexcept {
  if (hosts() == 1) return true;
  if (fewest() != most() || !std::has_single_bit(unsigned(most()))) return false;
  return std::is_sorted(host_of_.begin(), host_of_.end());
}

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
  const auto all = int(host.size());
  const auto rank_at = [&](int local) { return host[std::size_t(local)]; };
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

/// The slice of a rank without a shard goes to the one that adds it, and comes back.
void HierarchicalAllReduce::add_up(std::span<float> slice, bool exactly) {
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

void HierarchicalAllReduce::reduce_scatter(const RingPlan& plan, std::span<float> slice) {
  if (fixed_order_)
    fixed_reduce_scatter(*between_inside_, device_, plan, slice, kFixedScratch, journal());
  else if (plan.size > 1)
    ring_reduce_scatter(*between_inside_, device_, plan, slice, segment_, journal());
}

}  // namespace rueda
