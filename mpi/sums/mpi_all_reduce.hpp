#pragma once

#include <span>
#include <string_view>

#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

/// MPI_Allreduce in place on the same slice: the yardstick. The order of
/// addition is MPI's choice, and all time counts as transfer. It takes no
/// scratch memory of ours; MPI's own temporary memory is not known.
class MpiAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "mpi"; }

 private:
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;
};

}  // namespace rueda
