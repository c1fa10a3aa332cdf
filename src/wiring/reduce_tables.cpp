#include "reduce_tables.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/bounded_json.hpp"
#include "core/text_input.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/random.hpp"
#include "rueda/core/text.hpp"
#include "rueda/display/text.hpp"
#include "rueda/record/statistics.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kTableFormat = 1;
constexpr std::size_t kMostFileBytes = std::size_t{16} << 20U;
constexpr std::size_t kMostRows = 1000;
constexpr std::size_t kNoEnd = SIZE_MAX;

constexpr JsonLimits kLimits{.most_values = 1'000'000, .most_depth = 16, .most_keys = 256};
constexpr std::size_t kMostHosts = 1'000'000;

InputFile table_file(const std::string& file) {
  return {file, "--reduce-table " + file,
          "measure a new one with rueda bench tune, or leave the option out"};
}

std::size_t whole_number(const Json& json, const char* name) {
  if (json.is_number_unsigned()) return json.get<std::size_t>();
  throw InputError(std::string(name) + " is not a whole number from 0");
}

Algorithm read_algorithm(const Json& json) {
  const auto word = json.get<std::string>();
  for (const Algorithm algorithm : kAlgorithms) {
    if (word != to_string(algorithm)) continue;
    if (is_own(algorithm) && algorithm != Algorithm::automatic) return algorithm;
    throw InputError("a row names " + word + ", which no table may choose");
  }
  throw InputError("a row names the unknown algorithm '" + printable(word) + "'");
}

ReduceTable::Row read_row(const Json& json, bool is_last) {
  ReduceTable::Row row;
  const Json& most = json.at("most_bytes");
  if (most.is_null() != is_last)
    throw InputError("the last row has to be without end (most_bytes null), and no other");
  if (!is_last) row.most_bytes = whole_number(most, "most_bytes");
  row.way.algorithm = read_algorithm(json.at("algorithm"));
  row.way.segment_bytes = whole_number(json.at("segment_bytes"), "segment_bytes");
  require(row.way.segment_bytes % sizeof(float) == 0, "segment_bytes is not a multiple of 4");
  return row;
}

ReduceTable read_rows(const Json& rows) {
  if (!rows.is_array() || rows.empty() || rows.size() > kMostRows)
    throw InputError("its rows are not a list of 1 to 1000");
  ReduceTable table;
  for (const Json& json : rows) {
    const bool is_last = table.rows.size() + 1 == rows.size();
    const ReduceTable::Row row = read_row(json, is_last);
    if (!table.rows.empty() && row.most_bytes <= table.rows.back().most_bytes)
      throw InputError("most_bytes does not ascend from row to row");
    table.rows.push_back(row);
  }
  return table;
}

std::string counted_hosts(const std::vector<int>& layout) {
  const int hosts = layout.empty() ? 0 : std::ranges::max(layout) + 1;
  return counted(layout.size(), "rank") + " on " + counted(std::size_t(hosts), "host");
}

/// The host of each rank, by number.
std::vector<int> read_layout(const Json& json) {
  std::vector<int> layout;
  for (const Json& host : json) {
    const std::size_t number = whole_number(host, "a host in layout");
    if (number >= kMostHosts) throw InputError("layout numbers a million hosts or more");
    layout.push_back(int(number));
  }
  return layout;
}

void check_place(const Json& json, const TablePlace& here) {
  const std::vector<int> layout = read_layout(json.at("layout"));
  if (layout != here.layout) {
    const std::string theirs = counted_hosts(layout);
    const std::string ours = counted_hosts(here.layout);
    throw InputError(theirs == ours ? "it was measured with the ranks dealt otherwise to the hosts"
                                    : "it was measured with " + theirs + ", and these are " + ours);
  }
  const auto backend = json.at("backend").get<std::string>();
  const auto transport = json.at("transport").get<std::string>();
  require(backend == here.backend && transport == here.transport,
          fmt::format("it was measured on backend {} with transport {}, and this is {} with {}",
                      printable(backend), printable(transport), here.backend, here.transport));
}

}  // namespace

std::size_t usual_segment_bytes(const ReduceSituation& situation) {
  const bool between_hosts = situation.hosts > 1;
  if (situation.memory_is_on_host) return between_hosts ? 0 : kHostSegmentBytes;
  if (between_hosts) return kDeviceSegmentBytes;
  return predict::best_segment_bytes(kDevicesOfHost, std::size_t(situation.most_on_a_host));
}

ReduceTable reduce_rule(const ReduceSituation& situation) {
  const bool rounds = situation.wire == Wire::bf16;
  if (situation.may_share && situation.memory_is_on_host && !rounds) {
    return {.rows = {{.way = {Algorithm::shared, 0}}},
            .why = "by the rule for one host with shared memory"};
  }
  ReduceTable table;
  if (!rounds) table.rows.push_back({kSmallBytes, {Algorithm::doubling, 0}});
  const bool nested = situation.hosts > 1 && situation.most_on_a_host > 1;
  table.rows.push_back({.way = {nested ? Algorithm::hierarchical : Algorithm::ring,
                                usual_segment_bytes(situation)}});
  table.why = std::string("by the rule for ") +
              (nested                ? "several hosts of several ranks"
               : situation.hosts > 1 ? "several hosts of one rank each"
                                     : "one host without shared memory for gradients");
  return table;
}

std::vector<int> layout_of(const std::vector<std::string>& hosts) {
  const std::vector<std::string> known = each_once(hosts);
  return values_of(hosts, [&known](const std::string& host) {
    return int(std::ranges::find(known, host) - known.begin());
  });
}

std::string rows_text(const ReduceTable& table) {
  Json rows = Json::array();
  for (const auto& [most, way] : table.rows) {
    rows.push_back({{"most_bytes", most == kNoEnd ? Json() : Json(most)},
                    {"algorithm", to_string(way.algorithm)},
                    {"segment_bytes", way.segment_bytes}});
  }
  return rows.dump();
}

std::string rows_hash(const ReduceTable& table) {
  return fmt::format("{:016x}", key_of(rows_text(table)));
}

ReduceTable parse_reduce_table(const std::string& text, const std::string& file,
                               const TablePlace& here) {
  if (!fault_of_json(text, kLimits).empty()) table_file(file).refuse("not a table of all-reduces");
  const Json json = Json::parse(text);
  try {
    require(json.is_object() && json.contains("rueda_reduce_table"), "not a table of all-reduces");
    if (json.at("rueda_reduce_table") != kTableFormat)
      throw InputError("of a format that is not known");
    check_place(json, here);
    ReduceTable table = read_rows(json.at("rows"));
    table.why = "as measured in " + file;
    return table;
  } catch (const InputError& fault) {
    table_file(file).refuse(fault.what());
  } catch (const Json::exception&) {
    table_file(file).refuse("not a complete table of all-reduces");
  }
}

ReduceTable load_reduce_table(RankGroup& group, const std::string& file, const TablePlace& here) {
  const std::string text =
      text_of_rank_0(group, [&] { return read_text(table_file(file), kMostFileBytes); });
  ReduceTable table;
  together(group, [&] { table = parse_reduce_table(text, file, here); });
  return table;
}

}  // namespace rueda
