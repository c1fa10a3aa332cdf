#pragma once

#include <compare>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "base/split.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

namespace bench {

/// `rueda_bench` of a record: raised when a field changes its meaning or goes.
inline constexpr int kRecordVersion = 1;

/// The length of a slice.
struct Size {
  std::size_t bytes = 0;   ///< a multiple of 4
  std::string model = {};  ///< whose gradients are as long; empty: none
  auto operator<=>(const Size&) const = default;
};

/// 4 B to 256 MB, and the gradients of three networks.
inline constexpr const char* kDefaultSizes =
    "4,64,1k,4k,10k,40k,100k,400k,resnet20,4M,10M,40M,resnet18,resnet50v2,100M,256M";

/// Sizes between commas: bytes, with k, M, G for powers of 1000 and Ki, Mi, Gi
/// for powers of 1024, or the name of a network for what its training with so
/// many classes sums in a step (`GradientLayout`). Ascending, each once. Throws
/// InputError naming the word.
std::vector<Size> parse_sizes(const std::string& words, int classes = kClasses);

/// A way to sum that a benchmark is to measure.
struct Entry {
  std::string name;
  Algorithm algorithm = Algorithm::ring;
  ReduceOrder order = ReduceOrder::ring;
};

/// Stands for all ways. Those that this machine does not offer are left out then.
inline constexpr const char* kAllWords = "all";

/// The words of --all-reduce and "fixed" between commas, each once, or "all".
/// Throws InputError naming the word.
std::vector<Entry> parse_entries(const std::string& words);

/// "auto, ring, ..., fixed".
std::string known_entries();

/// What `explain` prints of more ranks cannot be read.
inline constexpr int kMostExplainedRanks = 16;

}  // namespace bench

/// The options of `rueda bench all-reduce`. Texts as they were given, and as they were read.
struct BenchAllReduceOptions {
  TrainConfig train;       ///< the options that `train` has, too
  std::string size_words;  ///< empty: kDefaultSizes
  int classes = kClasses;  ///< of the networks among them
  std::string algorithm_words = bench::kAllWords;
  std::size_t repetitions = 0;
  double seconds = 10;  ///< for a size
  std::string json;     ///< file to write; empty: none
  std::string plot;     ///< file to write; empty: none

  std::vector<bench::Size> sizes;
  std::vector<bench::Entry> entries;
};

/// The options of `rueda bench explain`.
struct BenchExplainOptions {
  int ranks = 4;
  std::size_t length = 1000;  ///< floats
  Algorithm algorithm = Algorithm::ring;
};

/// The options of `rueda bench layers`.
struct BenchLayersOptions {
  TrainConfig train;  ///< the options that `train` has, too
  int classes = kClasses;
  std::size_t repetitions = 10;
  std::string json;  ///< file to write; empty: none
};

/// Reads the words and checks the rest; throws InputError naming the option.
void validate(BenchAllReduceOptions& options);
void validate(BenchExplainOptions& options);
void validate(const BenchLayersOptions& options);

/// `rueda bench all-reduce`: measures all-reduces on the ranks of the run;
/// table, JSON and plot as asked. Returns the exit code. Throws AlreadyReported
/// for an error that all ranks agreed on, InputError and RunError otherwise.
int run_bench_all_reduce(const BenchAllReduceOptions& options);

namespace bench {

/// Chunks from one rank to another.
struct Message {
  int from = 0;
  int to = 0;
  Range chunks;
  bool adds = false;  ///< the receiver adds them to its own; else they replace those
};

/// Messages that are sent at the same time.
struct Step {
  std::string phase;
  int number = 0;                 ///< of the phase (ring), or of the whole sum (others)
  std::vector<Message> messages;  ///< by sender
};

/// All messages of one all-reduce. Without a float there is no message.
struct Schedule {
  int ranks = 1;
  std::size_t length = 0;  ///< floats
  std::vector<Range> chunks;
  std::vector<Step> steps;
  /// Of some of the chunks.
  std::size_t floats(Range of) const { return chunks[of.end - 1].end - chunks[of.begin].begin; }
};

/// The messages of ring (by RingPlan), doubling, halving or central. A message is in
/// the first step in which its sender and its receiver have done all before it.
/// Throws InputError for other algorithms.
Schedule schedule_of(Algorithm algorithm, int ranks, std::size_t length);

/// Whose values each rank has summed: [rank][chunk], a bit for each rank.
using Holdings = std::vector<std::vector<unsigned>>;
Holdings first_holdings(const Schedule& schedule);
/// After `step`: a message carries what its sender held before.
Holdings holdings_after(const Step& step, const Holdings& before);

/// What a rank sends.
struct Traffic {
  std::size_t messages = 0;
  std::size_t floats = 0;
};
/// Of each rank.
std::vector<Traffic> sent_by_rank(const Schedule& schedule);

/// `rueda bench explain`: who sends which chunk to whom at each step, what
/// every rank holds after it, and the bytes sent and the least possible. Needs
/// no MPI.
std::string explain(const BenchExplainOptions& options);

}  // namespace bench

/// `rueda bench layers`: times each product of each convolution alone and the
/// training step, in turn, on the cpu backend of this process. Needs no MPI.
/// Table and JSON as asked. Throws InputError, OutOfMemory and RunError.
void run_command(const BenchLayersOptions& options, std::ostream& out);

inline void run_command(const BenchExplainOptions& options, std::ostream& out) {
  out << bench::explain(options);
}
}  // namespace rueda
