#include "mpi_all_reduce.hpp"

#include "timed.hpp"

namespace rueda {

Event MpiAllReduce::sum(std::span<float> slice, Event ready) {
  if (ranks_->size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  timed(times_.transfer, [&] { ranks_->all_reduce_sum(slice); });
  return {};
}

}  // namespace rueda
