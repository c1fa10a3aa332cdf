#pragma once

#include <memory>
#include <span>
#include <utility>

#include "exchange.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

/// An exchange that looks at the messages of another one.
class OuterExchange : public Exchange {
 public:
  /// Keeps `ranks`, between which `inner` moves messages, and `device`; both
  /// outlive it. `book` is that of the all-reduce that this works for.
  OuterExchange(std::unique_ptr<Exchange> inner, Communicator& ranks, ReduceDevice& device,
                std::shared_ptr<const ReduceJournal> book)
      : Exchange(ranks), inner_(std::move(inner)), device_(device), book_(std::move(book)) {}

  void all_reduce_sum(std::span<float> data) override { inner_->all_reduce_sum(data); }

 protected:
  std::unique_ptr<Exchange> inner_;
  ReduceDevice& device_;
  std::shared_ptr<const ReduceJournal> book_;
};

}  // namespace rueda
