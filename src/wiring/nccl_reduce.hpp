#pragma once

#include <memory>

#include "mpi/session/communicator.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// Collective: ncclAllReduce over `ranks`, each of which has `device`, a GPU of its own. Throws
/// InputError where this program was built without NCCL or gradients are not on GPUs. Both outlive
/// it.
std::unique_ptr<AllReduce> make_nccl(Communicator& ranks, ReduceDevice& device);

}  // namespace rueda
