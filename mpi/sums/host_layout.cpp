#include "host_layout.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace rueda {

HostLayout HostLayout::of(Communicator& ranks) {
  return HostLayout(all_gather(ranks, ranks.node_leader()));
}

HostLayout::HostLayout(const std::vector<int>& host_of_rank) {
  std::map<int, int> numbers;
  for (const int name : host_of_rank) {
    const int host = numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second;
    if (host == hosts()) ranks_.emplace_back();
    ranks_[static_cast<std::size_t>(host)].push_back(static_cast<int>(host_of_.size()));
    host_of_.push_back(host);
  }
}

int HostLayout::local_rank_of(int rank) const {
  const auto& all = ranks_on(host_of(rank));
  return static_cast<int>(std::find(all.begin(), all.end(), rank) - all.begin());
}

int HostLayout::fewest() const noexcept {
  std::size_t count = host_of_.size();
  for (const auto& ranks : ranks_) count = std::min(count, ranks.size());
  return static_cast<int>(count);
}

int HostLayout::most() const noexcept {
  std::size_t count = 0;
  for (const auto& ranks : ranks_) count = std::max(count, ranks.size());
  return static_cast<int>(count);
}

bool HostLayout::keeps_tree_order() const noexcept {
  if (hosts() == 1) return true;
  if (fewest() != most() || !std::has_single_bit(static_cast<unsigned>(most()))) return false;
  return std::is_sorted(host_of_.begin(), host_of_.end());
}

}  // namespace rueda
