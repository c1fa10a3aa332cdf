#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/reduce/exchange.hpp"
#include "thread_group.hpp"

namespace rueda::test {

/// Messages between ranks that are threads.
class ThreadExchange final : public Exchange {
 public:
  /// Between all ranks of `group`, which outlives it.
  explicit ThreadExchange(ThreadGroup& group)
      : group_(group), members_(std::size_t(group.size())), rank_(group.rank()) {
    std::iota(members_.begin(), members_.end(), 0);
  }
  /// Collective: between those that give the same `color`.
  ThreadExchange(ThreadGroup& group, int color) : group_(group) {
    const auto colors = all_gather(group, color);
    for (int r = 0; r < group.size(); ++r) {
      if (r == group.rank()) rank_ = size();
      if (colors[std::size_t(r)] == color) members_.push_back(r);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return int(members_.size()); }
  int world_rank(int rank) const override { return members_.at(std::size_t(rank)); }

  void sendrecv(const Outgoing& send, const Incoming& receive, const ReduceJournal&) override {
    sendrecv_host(send.floats, send.to, receive.floats, receive.from);
  }
  void sendrecv_host(std::span<const float> send, int to, std::span<float> receive,
                     int from) override {
    if (!send.empty()) group_.meeting().send({space_, group_.rank(), world_rank(to)}, send);
    if (receive.empty()) return;
    const auto message = group_.meeting().receive({space_, world_rank(from), group_.rank()});
    if (message.size() != receive.size()) {
      throw RunError("rank " + std::to_string(rank_) + " expected " +
                     std::to_string(receive.size()) + " floats from rank " + std::to_string(from) +
                     " but got " + std::to_string(message.size()));
    }
    std::copy(message.begin(), message.end(), receive.begin());
  }
  /// In the order of the ranks.
  void all_reduce_sum(std::span<float> data) override {
    const std::vector<float> mine(data.begin(), data.end());
    std::vector<float> theirs(mine.size());
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank_) sendrecv_host(mine, peer, {}, peer);
    std::fill(data.begin(), data.end(), 0.0F);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank_) sendrecv_host({}, peer, theirs, peer);
      const auto& from = peer == rank_ ? mine : theirs;
      for (std::size_t i = 0; i < data.size(); ++i) data[i] += from[i];
    }
  }

 private:
  ThreadGroup& group_;
  int space_ = group_.take_space();
  std::vector<int> members_;  ///< ranks of the group, ascending
  int rank_ = 0;
};

}  // namespace rueda::test
