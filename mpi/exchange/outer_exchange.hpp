#pragma once

#include <memory>
#include <span>
#include <utility>

#include "reduce/reduce_journal.hpp"
#include "rueda/reduce/exchange.hpp"

namespace rueda {

/// An exchange around another one, which moves the messages.
class OuterExchange : public Exchange {
 public:
  explicit OuterExchange(std::unique_ptr<Exchange> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  int world_rank(int rank) const override { return inner_->world_rank(rank); }
  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override {
    inner_->sendrecv(send, receive, journal);
  }
  void sendrecv_host(std::span<const float> send, int to, std::span<float> receive,
                     int from) override {
    inner_->sendrecv_host(send, to, receive, from);
  }
  void all_reduce_sum(std::span<float> data) override { inner_->all_reduce_sum(data); }

 protected:
  std::unique_ptr<Exchange> inner_;
};

}  // namespace rueda
