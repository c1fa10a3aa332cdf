#pragma once

#include <array>
#include <string>

#include "mpi/probes/cuda_awareness.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// How gradients reach MPI.
enum class Transport {
  host,    ///< they are in host memory anyway
  device,  ///< MPI is handed device memory
  staged,  ///< through host memory
};

constexpr auto words_of(Transport) { return std::array{"host", "device", "staged"}; }

struct TransportDecision {
  Transport transport = Transport::host;
  std::string warning;  ///< one line, where staging was not asked for
};

/// The user's word, else what MPI says of itself, on one rank. Throws
/// InputError where host memory is to be staged.
TransportDecision decide_transport(TransportChoice choice, bool memory_is_on_host,
                                   const CudaVerdict& mpi);

/// Collective: the same for all ranks, staged where one of them needs it. The warning is rank 0's.
TransportDecision agree_on_transport(RankGroup& group, TransportChoice choice,
                                     const ReduceDevice& device);

}  // namespace rueda
