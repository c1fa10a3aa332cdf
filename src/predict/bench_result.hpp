#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace rueda::predict {

/// One row of `rueda bench all-reduce --json`.
struct BenchRow {
  std::string algorithm;  ///< its word: "ring", "doubling" ...
  double bytes = 0;       ///< of the slice
  double median = 0;      ///< seconds
  std::vector<double> seconds;
};

/// A whole record (docs/bench.md).
struct BenchResult {
  std::filesystem::path file;
  std::size_t ranks = 1;
  std::size_t hosts = 1;
  std::vector<BenchRow> rows;
};

/// Throws InputError naming file, place and remedy if it cannot be read or is none.
BenchResult read_bench(const std::filesystem::path& file);

}  // namespace rueda::predict
