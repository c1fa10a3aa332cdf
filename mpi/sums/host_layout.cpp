#include "mpi/sums/host_layout.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace rueda {

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

bool HostLayout::in_blocks() const noexcept {
  return std::is_sorted(host_of_.begin(), host_of_.end());
}

bool HostLayout::keeps_tree_order() const noexcept {
  if (hosts() == 1) return true;
  if (fewest() != most() || !std::has_single_bit(unsigned(most()))) return false;
  return in_blocks();
}

}  // namespace rueda
