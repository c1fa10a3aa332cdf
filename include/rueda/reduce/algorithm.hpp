#pragma once

#include <cstddef>

namespace rueda {

/// How gradients are summed over ranks. docs/ring.md tells what each does and costs.
enum class Algorithm {
  automatic,     ///< by a measured table, or by a rule where there is none
  ring,          ///< 2(P-1) messages of 1/P of the slice: for large slices
  doubling,      ///< about log2 P messages of the whole slice: for small ones
  hierarchical,  ///< inside each host, then between hosts, then inside again
  shared,        ///< one host: each rank adds straight from its peers' memory
  central,       ///< all to rank 0 and back: for comparison
  mpi,           ///< MPI_Allreduce
  nccl,          ///< ncclAllReduce, on GPUs
};
inline constexpr Algorithm kAlgorithms[] = {
    Algorithm::automatic, Algorithm::ring,    Algorithm::doubling, Algorithm::hierarchical,
    Algorithm::shared,    Algorithm::central, Algorithm::mpi,      Algorithm::nccl};

/// Whether its order of additions is ours.
constexpr bool is_own(Algorithm a) { return a != Algorithm::mpi && a != Algorithm::nccl; }

/// What numbers are on the wire; sums are fp32 either way.
enum class Wire { fp32, bf16 };

/// The word of the command line: "auto", "ring", ...
const char* to_string(Algorithm algorithm);
const char* to_string(Wire wire);

}  // namespace rueda
