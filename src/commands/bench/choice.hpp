#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record.hpp"
#include "rueda/reduce/algorithm.hpp"

namespace rueda::bench {

/// What one way to sum did at one length.
struct Trial {
  std::size_t bytes = 0;
  ReduceWay way;
  Seconds seconds;
};

/// 16 B, 64 B, ... by fours, up to `most_bytes`; at least one.
std::vector<std::size_t> tuned_lengths(std::size_t most_bytes);

/// Each algorithm with its usual segments and, where chunks travel in pieces (ring, hierarchical),
/// with each of `segments` (bytes; 0 are the usual ones).
std::vector<ReduceWay> tuned_ways(const std::vector<Algorithm>& algorithms,
                                  const std::vector<std::size_t>& segments);

/// Whether `way` differs from the usual segments: chunks of a slice of `bytes` over `ranks` are
/// longer than its segments. True for the usual ones.
bool is_distinct(const ReduceWay& way, std::size_t bytes, std::size_t ranks);

/// For each length, ascending, the way of the least median, or that of the length before where it
/// takes at most 3 % longer: noise makes no rows. Between two lengths the geometric mean divides.
/// `trials` are grouped by length.
ReduceTable choose_table(const std::vector<Trial>& trials);

/// "ring", "ring, 64 KiB segments".
std::string way_text(const ReduceWay& way);

/// The file of `rueda bench tune`: the table, and all figures that it was chosen by.
std::string table_file_text(const SystemInfo& system, const ReduceTable& table,
                            const std::vector<Trial>& trials);

}  // namespace rueda::bench
