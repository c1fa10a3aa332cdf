#pragma once

#include <string>
#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/reduce/reduce_table.hpp"

namespace rueda {

/// Ranks and their ways to each other. A table of ways to sum fits the place where it was measured.
struct TablePlace {
  std::vector<int> layout;  ///< each rank's host, numbered in the order in which ranks name them
  std::string backend;
  std::string transport;
};

/// Each host's number, in the order in which ranks name them first.
std::vector<int> layout_of(const std::vector<std::string>& hosts);

/// The `rows` of a table file: [{"most_bytes": 65536, "algorithm": "doubling", "segment_bytes": 0},
/// ...], JSON in the shape that docs/bench.md describes. The last row's most_bytes is null.
std::string rows_text(const ReduceTable& table);

/// 16 hex digits that tell tables apart: tables of the same rows give sums of the same bits.
std::string rows_hash(const ReduceTable& table);

/// The table in the text of a file of `rueda bench tune`. Throws InputError naming `file` for
/// anything but a complete table that was measured at a place as `here`.
ReduceTable parse_reduce_table(const std::string& text, const std::string& file,
                               const TablePlace& here);

/// Collective: rank 0 reads the file, all get the same table. Throws InputError alike.
ReduceTable load_reduce_table(RankGroup& group, const std::string& file, const TablePlace& here);

}  // namespace rueda
