#pragma once

#include <memory>
#include <utility>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// MPI_Allreduce in place on the same slice: the yardstick. The order of addition is MPI's choice.
class MpiAllReduce final : public AllReduce {
 public:
  /// MPI is handed the device's own pointers. Keeps both references; they outlive it.
  MpiAllReduce(Communicator& ranks, ReduceDevice& device)
      : MpiAllReduce(std::make_unique<DirectExchange>(ranks), device) {}
  MpiAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
      : ranks_(std::move(ranks)), device_(device) {}

  std::string_view name() const override { return "mpi"; }
  /// All time counts as transfer, MPI's additions included.
  Event sum(std::span<float> slice, Event ready) override;
  /// None of ours; MPI's own temporary memory is not known.
  std::size_t scratch_floats(std::size_t) const override { return 0; }

 private:
  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;
};

}  // namespace rueda
