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
      name_(parts.name),
      local_(layout.local_rank_of(ranks_->rank())),
      shards_(layout.fewest()),
      inside_(parts.split(color_of(layout.host_of(ranks_->rank()), layout.hosts()))),
      sum_across_(parts.across(parts.split(color_of(local_, shards_)))),
      segment_(parts.segment),
      fixed_order_(parts.fixed_order) {
  const auto& host = layout.ranks_on(layout.host_of(ranks_->rank()));
  if (!has_shard()) {
    partner_ = host[std::size_t(local_ % shards_)];
    return;
  }
  const auto shards = std::size_t(shards_);
  for (std::size_t local = std::size_t(local_) + shards; local < host.size(); local += shards)
    guests_.push_back(host[local]);
}

std::string HierarchicalAllReduce::details() const {
  return std::to_string(shards_) + " shards a bucket, " + sum_across_->details();
}

std::size_t HierarchicalAllReduce::scratch_floats(std::size_t length) const {
  if (!has_shard()) return 0;
  const RingPlan plan = plan_inside(length);
  std::size_t most = sum_across_->scratch_floats(plan.chunk(plan.owned()).size());
  if (!guests_.empty()) most = std::max(most, length);
  if (fixed_order_) return std::max(most, fixed_scratch_floats(length, plan.size, kFixedScratch));
  return std::max(most, ring_scratch_floats(length, plan.size, segment_, adds_meanwhile(device_)));
}

void HierarchicalAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool exactly) {
  if (!has_shard()) {
    place.exchange({"hand over", 0}, {slice, partner_}, {});
    place.exchange({"hand back", 0}, {}, {slice, partner_});
    return;
  }
  take_guests(place, slice);
  const SumPlace inside{*inside_, device_, place.journal};
  reduce_scatter(inside, slice);
  const RingPlan plan = plan_inside(slice.size());
  sum_shard(cut(slice, plan.chunk(plan.owned())), exactly, place.journal);
  ring_all_gather(inside, slice);
  for (const int guest : guests_) place.exchange({"hand back", 0}, {slice, guest}, {});
}

void HierarchicalAllReduce::take_guests(const SumPlace& place, std::span<float> slice) {
  for (const int guest : guests_) {
    const auto incoming = device_.scratch(slice.size()).first(slice.size());
    place.exchange({"hand over", 0}, {}, {incoming, guest});
    place.add({"hand over", 0}, slice, incoming);
  }
}

void HierarchicalAllReduce::reduce_scatter(const SumPlace& inside, std::span<float> slice) {
  if (fixed_order_)
    fixed_reduce_scatter(inside, slice, kFixedScratch);
  else if (inside.ranks.size() > 1)
    ring_reduce_scatter(inside, slice, segment_);
}

void HierarchicalAllReduce::sum_shard(std::span<float> shard, bool exactly,
                                      ReduceJournal& journal) {
  if (exactly)
    device_.wait(sum_across_->sum_exactly(shard, {}, journal));
  else
    device_.wait(sum_across_->sum(shard, {}, journal));
}

}  // namespace rueda
