#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exchange.hpp"
#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

/// Every message is followed by its check sum (kernels::message_check), taken by the sender's
/// device before the message leaves and by the receiver's once it is there: so whatever happens to
/// it in between is noticed, copies through host memory included. `sendrecv` throws a RunError at
/// the receiver that names place, sender, receiver, hosts, length and both sums. The sums of
/// all_reduce_sum are MPI's and go unseen.
///
/// A message costs a pass over it on either side and one more of 8 bytes.
class VerifiedExchange final : public Exchange {
 public:
  /// Collective over `ranks`, between which `moves` moves messages. Keeps `ranks` and `device`,
  /// which outlive it. `book` is that of the all-reduce that this works for.
  VerifiedExchange(std::unique_ptr<Exchange> moves, Communicator& ranks, ReduceDevice& device,
                   std::shared_ptr<const ReduceJournal> book);

  int rank() const override { return moves_->rank(); }
  int size() const override { return moves_->size(); }
  int world_rank(int rank) const override { return moves_->world_rank(rank); }
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override;
  void all_reduce_sum(std::span<float> data) override { moves_->all_reduce_sum(data); }

 private:
  /// "rank 3 on h1", of rank `rank` of these ranks.
  std::string name_of(int rank) const;
  [[noreturn]] void report(int from, std::size_t floats, std::uint64_t sent,
                           std::uint64_t found) const;

  std::unique_ptr<Exchange> moves_;
  Communicator& ranks_;
  ReduceDevice& device_;
  std::shared_ptr<const ReduceJournal> book_;
  std::vector<std::string> hosts_;  ///< of each rank
};

}  // namespace rueda
