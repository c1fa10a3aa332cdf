#include "train/options.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "commands/bench/bench.hpp"
#include "commands/reader.hpp"
#include "commands/summary.hpp"
#include "launch/launcher.hpp"
#include "model/registry.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "run/wiring/device_choice.hpp"

namespace rueda {
namespace bench {
namespace {

using Unit = std::pair<const char*, std::size_t>;
constexpr Unit kUnits[] = {
    {"", 1},           {"k", 1000},       {"M", 1'000'000}, {"G", 1'000'000'000},
    {"Ki", 1U << 10U}, {"Mi", 1U << 20U}, {"Gi", 1U << 30U}};
constexpr std::size_t kMostBytes = std::size_t{1} << 40U;
constexpr std::size_t kMostSegmentBytes = std::size_t{1} << 30U;

/// A whole number and one of the units, as at most so many bytes.
std::optional<std::size_t> parse_bytes(std::string_view word, std::size_t most) {
  const auto number = take_number(word);
  const auto* unit = std::ranges::find(kUnits, word, &Unit::first);
  if (!number || unit == std::end(kUnits) || *number > most / unit->second) return {};
  return *number * unit->second;
}

Size parse_size(const std::string& word, int classes) {
  if (std::ranges::count(model_names(), word) > 0) {
    // The image size is of no account: no parameter depends on it.
    return {GradientLayout(build_model(word, 32, classes)).total() * sizeof(float), word};
  }
  const auto bytes = parse_bytes(word, kMostBytes);
  const std::string subject = "size '" + printable(word) + "'";
  require(bytes.has_value(),
          subject +
              ": give a number of bytes up to 1 TiB as 4, 64k, 1M, 16Mi, or the name of a "
              "network as resnet18");
  require(*bytes != 0 && *bytes % sizeof(float) == 0,
          subject + ": not a number of floats; give a multiple of 4 bytes from 4 on");
  return {*bytes, ""};
}

void check_common(double seconds, const TrainConfig& train) {
  require(seconds > 0 && seconds <= 86'400, "--seconds must be above 0 and at most 86400");
  require(train.device.threads >= 0 && train.device.threads <= 1024,
          "--threads must be from 0 to 1024");
}

std::vector<Entry> every_entry() {
  std::vector<Entry> entries;
  for (const Algorithm algorithm : kAlgorithms)
    entries.push_back({to_string(algorithm), algorithm, ReduceOrder::ring});
  entries.push_back({"fixed", Algorithm::ring, ReduceOrder::fixed});
  return entries;
}

}  // namespace

std::vector<Size> parse_sizes(const std::string& words, int classes) {
  std::set<Size> sizes;
  for (const std::string& word : split_words(words)) sizes.insert(parse_size(word, classes));
  return {sizes.begin(), sizes.end()};
}

std::string known_entries() {
  const auto every = every_entry();
  return joined(every | std::views::transform(&Entry::name), ", ");
}

std::vector<Entry> parse_entries(const std::string& words) {
  const auto every = every_entry();
  if (words == kAllWords) return every;
  std::vector<Entry> entries;
  for (const std::string& word : split_words(words)) {
    const auto found = std::ranges::find(every, word, &Entry::name);
    require(found != every.end(),
            "--algorithms '" + printable(word) + "': give all, or some of " + known_entries());
    if (std::ranges::count(entries, word, &Entry::name) == 0) entries.push_back(*found);
  }
  return entries;
}

}  // namespace bench

using namespace bench;

void validate(BenchAllReduceOptions& options) {
  if (options.size_words.empty()) options.size_words = kDefaultSizes;
  check_classes(options.classes);
  options.sizes = parse_sizes(options.size_words, options.classes);
  options.entries = parse_entries(options.algorithm_words);
  check_common(options.seconds, options.train);
  require(options.repetitions <= 1'000'000, "--repetitions must be from 0 to 1000000");
  require(options.train.sums.segment_kb <= 1'048'576, "--segment-kb must be from 0 to 1048576");
}

void validate(BenchExplainOptions& options) {
  require(options.ranks >= 1 && options.ranks <= kMostExplainedRanks,
          fmt::format("--ranks must be from 1 to {}, so that what is printed can be read",
                      kMostExplainedRanks));
  require(options.length <= std::size_t{1} << 40U, "--length must be from 0 to 2^40 floats");
}

void validate(const BenchLayersOptions& options) {
  validate(options.train);
  check_classes(options.classes);
  require(options.repetitions >= 1 && options.repetitions <= 1'000'000,
          "--repetitions must be from 1 to 1000000");
  require(!has_peers(), "bench layers measures one rank: start it without a launcher");
}

}  // namespace rueda
