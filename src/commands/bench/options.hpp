#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rueda/train/config.hpp"
#include "sizes.hpp"

namespace rueda {

/// What all-reduces are measured with: the options that `train` has, too.
struct BenchSetup {
  BackendChoice backend = BackendChoice::automatic;
  TransportChoice transport = TransportChoice::automatic;
  bool allow_shared_gpu = false;
  int threads = 0;
  Wire wire = Wire::fp32;
};

namespace bench {

/// A way to sum that a benchmark is to measure.
struct Entry {
  std::string name;
  Algorithm algorithm = Algorithm::ring;
  ReduceOrder order = ReduceOrder::ring;
};

/// The ways that were asked for. Where `all` were, those that this machine does not offer are left
/// out.
struct Entries : std::vector<Entry> {
  bool all = false;
};

/// The words of --all-reduce and "fixed" between commas, each once, or "all". Throws InputError
/// naming the word.
Entries parse_entries(const std::string& words);

/// "auto, ring, ..., fixed".
std::string known_entries();

/// What `explain` prints of more ranks cannot be read.
inline constexpr int kMostExplainedRanks = 16;

}  // namespace bench

/// The options of `rueda bench all-reduce`. Texts as they were given, and as they were read.
struct BenchAllReduceOptions {
  BenchSetup setup;
  std::string size_words;  ///< empty: kDefaultSizes
  std::string algorithm_words = "all";
  std::size_t segment_kb = 0;
  std::string reduce_table;  ///< for `auto`; empty: by its rule
  std::size_t repetitions = 0;
  double seconds = 10;  ///< for a size
  bool verify_messages = false;
  std::string json;  ///< file to write; empty: none
  std::string plot;  ///< file to write; empty: none

  std::vector<bench::Size> sizes;
  bench::Entries entries;
};

/// The options of `rueda bench tune`.
struct BenchTuneOptions {
  BenchSetup setup;
  std::string out;
  std::string algorithm_words = "ring,doubling,hierarchical,shared";
  std::string segment_words = "0,64,256,1024";  ///< KiB; 0: the usual
  std::string most = "256M";                    ///< the longest slice
  double seconds = 120;                         ///< in all

  bench::Entries entries;
  std::vector<std::size_t> segments;  ///< bytes
  std::size_t most_bytes = 0;
};

/// The options of `rueda bench explain`.
struct BenchExplainOptions {
  int ranks = 4;
  std::size_t length = 1000;  ///< floats
  Algorithm algorithm = Algorithm::ring;
};

/// Reads the words and checks the rest; throws InputError naming the option.
void validate(BenchAllReduceOptions& options);
void validate(BenchTuneOptions& options);
void validate(BenchExplainOptions& options);

}  // namespace rueda
