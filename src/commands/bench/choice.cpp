#include "choice.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <nlohmann/json.hpp>

#include "wiring/reduce_tables.hpp"

namespace rueda::bench {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kNoise = 1.03;
constexpr std::size_t kLeastBytes = 16;

bool has_segments(Algorithm algorithm) {
  return algorithm == Algorithm::ring || algorithm == Algorithm::hierarchical;
}

/// Where the way of `lower` bytes ends and that of `upper` begins: whole floats.
std::size_t border(std::size_t lower, std::size_t upper) {
  const double middle = std::sqrt(static_cast<double>(lower) * static_cast<double>(upper));
  return static_cast<std::size_t>(middle) / sizeof(float) * sizeof(float);
}

/// With the least median; `before` where it takes at most kNoise times that.
const ReduceWay& fastest(const std::vector<Trial>& trials, std::size_t bytes,
                         const ReduceWay* before) {
  const Trial* best = nullptr;
  const Trial* kept = nullptr;
  for (const Trial& trial : trials) {
    if (trial.bytes != bytes) continue;
    if (best == nullptr || median_of(trial.seconds) < median_of(best->seconds)) best = &trial;
    if (before != nullptr && trial.way == *before) kept = &trial;
  }
  const bool keeps =
      kept != nullptr && median_of(kept->seconds) <= kNoise * median_of(best->seconds);
  return keeps ? kept->way : best->way;
}

Json trial_json(const Trial& trial) {
  return {{"bytes", trial.bytes},
          {"algorithm", to_string(trial.way.algorithm)},
          {"segment_bytes", trial.way.segment_bytes},
          {"repetitions", trial.seconds.size()},
          {"median_seconds", median_of(trial.seconds)},
          {"p25_seconds", quantile(trial.seconds, 0.25)},
          {"p75_seconds", quantile(trial.seconds, 0.75)},
          {"p99_seconds", quantile(trial.seconds, 0.99)}};
}

}  // namespace

std::vector<std::size_t> tuned_lengths(std::size_t most_bytes) {
  std::vector<std::size_t> lengths = {kLeastBytes};
  while (lengths.back() * 4 <= most_bytes) lengths.push_back(lengths.back() * 4);
  return lengths;
}

std::vector<ReduceWay> tuned_ways(const std::vector<Algorithm>& algorithms,
                                  const std::vector<std::size_t>& segments) {
  std::vector<ReduceWay> ways;
  for (const Algorithm algorithm : algorithms) {
    ways.push_back({algorithm, 0});
    for (const std::size_t segment : segments) {
      if (segment > 0 && has_segments(algorithm)) ways.push_back({algorithm, segment});
    }
  }
  return ways;
}

bool is_distinct(const ReduceWay& way, std::size_t bytes, std::size_t ranks) {
  return way.segment_bytes == 0 || way.segment_bytes < bytes / ranks;
}

ReduceTable choose_table(const std::vector<Trial>& trials) {
  ReduceTable table;
  std::size_t before = 0;  // bytes
  for (const Trial& trial : trials) {
    if (trial.bytes == before) continue;
    const ReduceWay* last = table.rows.empty() ? nullptr : &table.rows.back().way;
    const ReduceWay way = fastest(trials, trial.bytes, last);
    if (last == nullptr || way != *last) {
      if (last != nullptr) table.rows.back().most_bytes = border(before, trial.bytes);
      table.rows.push_back({.way = way});
    }
    before = trial.bytes;
  }
  return table;
}

std::string way_text(const ReduceWay& way) {
  std::string text = to_string(way.algorithm);
  if (way.segment_bytes == 0) return text;
  return text + ", " + std::to_string(way.segment_bytes / 1024) + " KiB segments";
}

std::string table_file_text(const SystemInfo& system, const ReduceTable& table,
                            const std::vector<Trial>& trials) {
  using Tick = std::chrono::steady_clock::period;
  Json json = {{"rueda_reduce_table", 1}};
  json.update(system_json(system));
  json["clock_tick_seconds"] = static_cast<double>(Tick::num) / static_cast<double>(Tick::den);
  json["rows"] = Json::parse(rows_text(table));
  json["rows_hash"] = rows_hash(table);
  json["measured"] = Json::array();
  for (const Trial& trial : trials) json["measured"].push_back(trial_json(trial));
  return file_text(json);
}

}  // namespace rueda::bench
