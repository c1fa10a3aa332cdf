#include "mpi/sums/mpi_all_reduce.hpp"

namespace rueda {

void MpiAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool) {
  const auto entry = place.journal.transfer("MPI_Allreduce", 0, -1, -1);
  place.ranks.all_reduce_sum(slice);
}

}  // namespace rueda
