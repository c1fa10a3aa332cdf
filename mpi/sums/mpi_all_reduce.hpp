#pragma once

#include <span>
#include <string_view>

#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

/// MPI_Allreduce in place on the same slice: the yardstick. The order of
/// addition is MPI's choice, and all time counts as transfer.
class MpiAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "mpi"; }
  /// None of ours; MPI's own temporary memory is not known.

 private:
  void add_up(std::span<float> slice, bool) override {
    journal().transfer("MPI_Allreduce", 0, -1, -1, [&] { ranks_->all_reduce_sum(slice); });
  }
};

}  // namespace rueda
