#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace rueda {

/// How gradients are summed over ranks. docs/ring.md says what each does and costs.
enum class Algorithm {
  automatic,     ///< by length and measured costs
  ring,          ///< 2(P-1) messages of 1/P of the slice: for large slices
  doubling,      ///< about log2 P messages of the whole slice: for small ones
  halving,       ///< about 2 log2 P messages, as long together as the ring's: for many ranks
  hierarchical,  ///< inside each host, then by a ring between hosts, then inside again
  hierarchical_halving,  ///< the same, with halving between hosts
  shared,                ///< one host: each rank adds straight from its peers' memory
  mpi,                   ///< MPI_Allreduce
  nccl,                  ///< ncclAllReduce, on GPUs
  central,               ///< all to rank 0 and back: for comparison in rueda bench
};
inline constexpr Algorithm kAlgorithms[] = {
    Algorithm::automatic, Algorithm::ring,         Algorithm::doubling,
    Algorithm::halving,   Algorithm::hierarchical, Algorithm::hierarchical_halving,
    Algorithm::shared,    Algorithm::central,      Algorithm::mpi,
    Algorithm::nccl};

/// Whether rueda decides about its order of additions.
constexpr bool is_own(Algorithm a) { return a != Algorithm::mpi && a != Algorithm::nccl; }

constexpr bool is_hierarchical(Algorithm a) {
  return a == Algorithm::hierarchical || a == Algorithm::hierarchical_halving;
}

/// The numbers on the wire; sums are fp32 either way.
enum class Wire { fp32, bf16 };

/// Whether it can send bf16.
constexpr bool may_narrow(Algorithm a) {
  return a == Algorithm::ring || a == Algorithm::hierarchical;
}

/// The words of the command line.
constexpr auto words_of(Algorithm) {
  return std::array{"auto",   "ring", "doubling", "halving", "hierarchical", "hierarchical-halving",
                    "shared", "mpi",  "nccl",     "central"};
}
constexpr auto words_of(Wire) { return std::array{"fp32", "bf16"}; }

/// How a slice is summed.
struct ReduceWay {
  Algorithm algorithm = Algorithm::ring;
  std::size_t segment_bytes = 0;  ///< pieces in which a chunk travels; 0: whole
  bool operator==(const ReduceWay&) const = default;
};

/// Which way to take for which length, for one number of ranks on one layout of
/// hosts. It decides the bits of every sum.
struct ReduceTable {
  struct Row {
    std::size_t most_bytes = SIZE_MAX;  ///< up to this length
    ReduceWay way;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;  ///< ascending; the last one has no end
  std::string why{};      ///< of these rows, for people: "a rule for one host" for example

  /// The row that covers `bytes`; throws std::out_of_range if there is none.
  const Row& row(std::size_t bytes) const {
    const auto found = std::ranges::lower_bound(rows, bytes, {}, &Row::most_bytes);
    if (found == rows.end()) throw std::out_of_range("no way to sum that many bytes");
    return *found;
  }
  const ReduceWay& way(std::size_t bytes) const { return row(bytes).way; }
};

/// "256 KiB", "4 MiB", "100 bytes".
inline std::string length_text(std::size_t bytes) {
  constexpr std::size_t kib = 1024;
  if (bytes % (kib * kib) == 0) return std::to_string(bytes / (kib * kib)) + " MiB";
  if (bytes % kib == 0) return std::to_string(bytes / kib) + " KiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace rueda
