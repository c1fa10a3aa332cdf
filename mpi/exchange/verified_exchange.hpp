#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mpi/exchange/outer_exchange.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// Every message is followed by its check sum (kernels::message_check), taken
/// by the sender's device before the message leaves and by the receiver's once
/// it is there: so whatever happens to it in between is noticed, copies through
/// host memory included. `sendrecv` throws a RunError at the receiver that
/// names step, sender, receiver, hosts, length and both sums. The sums of
/// all_reduce_sum are MPI's and go unseen.
///
/// A message costs a pass over it on either side and one more of 8 bytes.
class VerifiedExchange final : public OuterExchange {
 public:
  /// Keeps `device`, which outlives it. `hosts` are those of the ranks.
  VerifiedExchange(std::unique_ptr<Exchange> inner, std::vector<std::string> hosts,
                   ReduceDevice& device)
      : OuterExchange(std::move(inner)), hosts_(std::move(hosts)), device_(device) {}

  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override;

 private:
  /// "rank 3 on h1", of rank `rank` of these ranks.
  std::string name_of(int rank) const;
  [[noreturn]] void report(const Incoming& receive, const ReduceNow& now, std::uint64_t sent,
                           std::uint64_t found) const;

  std::vector<std::string> hosts_;  ///< of each rank
  ReduceDevice& device_;
};

}  // namespace rueda
