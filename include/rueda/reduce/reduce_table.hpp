#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "algorithm.hpp"

namespace rueda {

/// How a slice is summed.
struct ReduceWay {
  Algorithm algorithm = Algorithm::ring;
  std::size_t segment_bytes = 0;  ///< pieces in which a chunk travels; 0: whole
  bool operator==(const ReduceWay&) const = default;
};

/// Which way to take for which length, for one number of ranks on one layout of hosts. Once chosen
/// it decides the bits of every sum, so whoever measures it writes it down.
struct ReduceTable {
  struct Row {
    std::size_t most_bytes = std::numeric_limits<std::size_t>::max();  ///< up to this length
    ReduceWay way;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;  ///< ascending; the last one has no end

  /// The row that covers `bytes`; throws std::out_of_range if there is none.
  const Row& row(std::size_t bytes) const;
  const ReduceWay& way(std::size_t bytes) const { return row(bytes).way; }
};

}  // namespace rueda
