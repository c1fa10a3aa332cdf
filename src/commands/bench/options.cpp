#include "options.hpp"

#include <algorithm>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostRepetitions = 1'000'000;
constexpr double kMostSeconds = 86'400;
constexpr std::size_t kMostSegmentKb = 1U << 20U;
constexpr std::size_t kMostLength = std::size_t{1} << 40U;

void require(bool valid, const char* message) {
  if (!valid) throw InputError(message);
}

void check_common(double seconds, const BenchSetup& setup) {
  require(seconds > 0 && seconds <= kMostSeconds, "--seconds must be above 0 and at most 86400");
  require(setup.threads >= 0 && setup.threads <= 1024, "--threads must be from 0 to 1024");
}

bench::Entries every_entry() {
  bench::Entries entries;
  for (const Algorithm algorithm : kAlgorithms) {
    entries.push_back({to_string(algorithm), algorithm, ReduceOrder::ring});
  }
  entries.push_back({"fixed", Algorithm::ring, ReduceOrder::fixed});
  entries.all = true;
  return entries;
}

}  // namespace

std::string bench::known_entries() {
  std::string known;
  for (const Entry& entry : every_entry()) known += (known.empty() ? "" : ", ") + entry.name;
  return known;
}

bench::Entries bench::parse_entries(const std::string& words) {
  const Entries every = every_entry();
  if (words == "all") return every;
  Entries entries;
  for (const std::string& word : split_words(words)) {
    const auto is = [&word](const Entry& entry) { return entry.name == word; };
    const auto found = std::find_if(every.begin(), every.end(), is);
    if (found == every.end()) {
      throw InputError("--algorithms '" + printable(word) + "': give all, or some of " +
                       known_entries());
    }
    if (std::none_of(entries.begin(), entries.end(), is)) entries.push_back(*found);
  }
  return entries;
}

void validate(BenchAllReduceOptions& options) {
  options.sizes =
      bench::parse_sizes(options.size_words.empty() ? bench::kDefaultSizes : options.size_words);
  options.entries = bench::parse_entries(options.algorithm_words);
  check_common(options.seconds, options.setup);
  require(options.repetitions <= kMostRepetitions, "--repetitions must be from 0 to 1000000");
  require(options.segment_kb <= kMostSegmentKb, "--segment-kb must be from 0 to 1048576");
}

void validate(BenchTuneOptions& options) {
  options.entries = bench::parse_entries(options.algorithm_words);
  for (const bench::Entry& entry : options.entries) {
    if (entry.algorithm != Algorithm::automatic && is_own(entry.algorithm) &&
        entry.order == ReduceOrder::ring) {
      continue;
    }
    throw InputError("--algorithms '" + entry.name +
                     "': a table chooses among the program's own algorithms; give some of ring, "
                     "doubling, hierarchical, shared, central");
  }
  options.segments = bench::parse_segments(options.segment_words);
  const auto sizes = bench::parse_sizes(options.most);
  require(sizes.size() == 1, "--most takes one size");
  options.most_bytes = sizes.front().bytes;
  check_common(options.seconds, options.setup);
}

void validate(BenchExplainOptions& options) {
  static_assert(bench::kMostExplainedRanks == 16);
  require(options.ranks >= 1 && options.ranks <= bench::kMostExplainedRanks,
          "--ranks must be from 1 to 16, so that what is printed can be read");
  require(options.length <= kMostLength, "--length must be from 0 to 2^40 floats");
}

}  // namespace rueda
