#include "options.hpp"

#include <algorithm>
#include <cmath>

#include "explain.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostRepetitions = 1'000'000;
constexpr double kMostSeconds = 86'400;
constexpr std::size_t kMostSegmentKb = 1U << 20U;
constexpr std::size_t kMostLength = std::size_t{1} << 40U;

void check_seconds(double seconds) {
  if (!(seconds > 0) || seconds > kMostSeconds) {
    throw InputError("--seconds must be above 0 and at most 86400");
  }
}

void check_threads(const BenchPlace& place) {
  if (place.threads < 0 || place.threads > 1024) {
    throw InputError("--threads must be from 0 to 1024");
  }
}

}  // namespace

void settle(BenchAllReduceOptions& options) {
  options.sizes =
      bench::parse_sizes(options.size_words.empty() ? bench::kDefaultSizes : options.size_words);
  options.entries = bench::parse_entries(options.algorithm_words);
  check_seconds(options.seconds);
  check_threads(options.place);
  if (options.repetitions > kMostRepetitions) {
    throw InputError("--repetitions must be from 0 to 1000000");
  }
  if (options.segment_kb > kMostSegmentKb) {
    throw InputError("--segment-kb must be from 0 to 1048576");
  }
}

void settle(BenchTuneOptions& options) {
  options.entries = bench::parse_entries(options.algorithm_words);
  for (const bench::Entry& entry : options.entries) {
    if (entry.algorithm == Algorithm::automatic || !is_own(entry.algorithm) ||
        entry.order != ReduceOrder::ring) {
      throw InputError("--algorithms '" + entry.name +
                       "': a table chooses among the program's own algorithms; give some of ring, "
                       "doubling, hierarchical, shared, central");
    }
  }
  options.segments = bench::parse_segments(options.segment_words);
  const auto sizes = bench::parse_sizes(options.most);
  if (sizes.size() != 1) throw InputError("--most takes one size");
  options.most_bytes = sizes.front().bytes;
  check_seconds(options.seconds);
  check_threads(options.place);
}

void settle(BenchExplainOptions& options) {
  if (options.ranks < 1 || options.ranks > bench::kMostExplainedRanks) {
    throw InputError("--ranks must be from 1 to " + std::to_string(bench::kMostExplainedRanks) +
                     ", so that what is printed can be read");
  }
  if (options.length > kMostLength) throw InputError("--length must be from 0 to 2^40 floats");
}

}  // namespace rueda
