#pragma once

#include <string>
#include <vector>

#include "rueda/train/config.hpp"

namespace rueda::bench {

/// A way to sum that a benchmark is to measure.
struct Entry {
  std::string name;
  Algorithm algorithm = Algorithm::ring;
  ReduceOrder order = ReduceOrder::ring;
};

/// Those that were asked for. Where all were, one that is not to be had here is left out.
struct Entries : std::vector<Entry> {
  bool all = false;
};

/// The words of --all-reduce and "fixed" between commas, each once, or "all". Throws InputError
/// naming the word.
Entries parse_entries(const std::string& words);

/// "auto, ring, ..., fixed".
std::string known_entries();

}  // namespace rueda::bench
