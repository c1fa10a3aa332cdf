#include <functional>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "commands/bench/record.hpp"
#include "rueda/core/error.hpp"
#include "wiring/reduce_tables.hpp"

using Catch::Matchers::Contains;
using rueda::Algorithm;
using rueda::ReduceTable;
using rueda::ReduceWay;
using namespace rueda::bench;
using Json = nlohmann::ordered_json;

namespace {

const rueda::TablePlace kHere{{0, 0, 1, 1}, "cpu", "host"};

SystemInfo system_info() {
  SystemInfo system;
  system.hosts = {"a", "a", "b", "b"};
  system.backend = "cpu";
  system.transport = "host";
  return system;
}

/// Doubling is faster up to 64 B, the ring at 256 B and above.
std::vector<Trial> trials() {
  const ReduceWay doubling{Algorithm::doubling, 0};
  const ReduceWay ring{Algorithm::ring, 0};
  return {{16, ring, {2, 3, 2}},   {16, doubling, {1, 1, 9}}, {64, ring, {3}},
          {64, doubling, {2}},     {256, ring, {4}},          {256, doubling, {8}},
          {1024, doubling, {9.8}}, {1024, ring, {10}}};
}

std::string refusal(const std::string& text, const rueda::TablePlace& here = kHere) {
  try {
    rueda::parse_reduce_table(text, "t.json", here);
    return "";
  } catch (const rueda::InputError& error) {
    return error.what();
  }
}

std::string file() { return table_file_text(system_info(), choose_table(trials()), trials()); }

std::string changed(const std::function<void(Json&)>& change) {
  Json json = Json::parse(file());
  change(json);
  return json.dump();
}

}  // namespace

TEST_CASE("a table takes the fastest, and keeps a way that is as good", "[reduce-table]") {
  const ReduceTable table = choose_table(trials());
  REQUIRE(table.rows.size() == 2);  // at 1024 B doubling is faster by less than 3 %
  REQUIRE(table.way(128) == ReduceWay{Algorithm::doubling, 0});
  REQUIRE(table.way(132) == ReduceWay{Algorithm::ring, 0});
  REQUIRE(table.way(std::size_t{1} << 40U) == ReduceWay{Algorithm::ring, 0});
}

TEST_CASE("what is tuned", "[reduce-table]") {
  REQUIRE(tuned_lengths(300) == std::vector<std::size_t>{16, 64, 256});
  REQUIRE(tuned_lengths(4) == std::vector<std::size_t>{16});
  REQUIRE(tuned_ways({Algorithm::ring, Algorithm::doubling}, {0, 1024}) ==
          std::vector<ReduceWay>{
              {Algorithm::ring, 0}, {Algorithm::ring, 1024}, {Algorithm::doubling, 0}});
  REQUIRE(is_distinct({Algorithm::ring, 1024}, 4100, 4));
  REQUIRE_FALSE(is_distinct({Algorithm::ring, 1024}, 4096, 4));
  REQUIRE(is_distinct({Algorithm::ring, 0}, 4, 4));
}

TEST_CASE("a table that was written is read as it was", "[reduce-table]") {
  const ReduceTable table = choose_table(trials());
  const ReduceTable read = rueda::parse_reduce_table(file(), "t.json", kHere);
  REQUIRE(read.rows == table.rows);
  REQUIRE(rueda::rows_hash(read) == Json::parse(file()).at("rows_hash"));
  REQUIRE(Json::parse(file()).at("measured").size() == trials().size());
  ReduceTable other = table;
  other.rows[1].way.segment_bytes = 4096;
  REQUIRE(rueda::rows_hash(table).size() == 16);
  REQUIRE(rueda::rows_hash(other) != rueda::rows_hash(table));
}

TEST_CASE("a table of another place is refused", "[reduce-table]") {
  REQUIRE_THAT(refusal(file(), {{0, 0}, "cpu", "host"}),
               Contains("4 ranks on 2 hosts, and these are 2 ranks on 1 host"));
  REQUIRE_THAT(refusal(file(), {{0, 0, 0, 0}, "cpu", "host"}), Contains("4 ranks on 1 host"));
  REQUIRE_THAT(refusal(file(), {{0, 1, 0, 1}, "cpu", "host"}), Contains("dealt otherwise"));
  REQUIRE_THAT(refusal(file(), {{0, 0, 1, 1}, "cuda", "staged"}),
               Contains("backend cpu with transport host") && Contains("cuda with staged"));
}

TEST_CASE("what is no table is refused with one line that names the file", "[reduce-table]") {
  for (const std::string text :
       {"", "{", "[]", "7", "null", "{}", "{\"rueda_tuning\": 1}", "\xff\xfe"}) {
    INFO(text);
    REQUIRE(refusal(text).starts_with("--reduce-table t.json: not a table of all-reduces; "));
  }
  REQUIRE_THAT(refusal(std::string(100'000, '[')), Contains("not a table"));
  REQUIRE_THAT(refusal(changed([](Json& j) { j["rueda_reduce_table"] = 2; })),
               Contains("format that is not known"));
  for (const char* name : {"layout", "backend", "transport", "rows"}) {
    REQUIRE_THAT(refusal(changed([&](Json& j) { j.erase(name); })),
                 Contains("not a complete table"));
    REQUIRE_FALSE(refusal(changed([&](Json& j) { j[name] = 7; })).empty());
  }
}

TEST_CASE("rows that do not make a table are refused", "[reduce-table]") {
  const auto refused = [](const std::string& why, const std::function<void(Json&)>& change) {
    REQUIRE_THAT(refusal(changed([&](Json& j) { change(j["rows"]); })), Contains(why));
  };
  refused("1 to 1000", [](Json& r) { r = Json::array(); });
  refused("1 to 1000", [](Json& r) { r = Json(std::vector<Json>(1001, r[1])); });
  refused("without end", [](Json& r) { r[1]["most_bytes"] = 4096; });
  refused("without end", [](Json& r) { r[0]["most_bytes"] = nullptr; });
  refused("does not ascend", [](Json& r) { r.insert(r.begin(), r[0]); });
  for (const Json& bad : {Json(-1), Json(1.5), Json("64")}) {
    refused("most_bytes", [&](Json& r) { r[0]["most_bytes"] = bad; });
    refused("segment_bytes", [&](Json& r) { r[0]["segment_bytes"] = bad; });
  }
  refused("multiple of 4", [](Json& r) { r[0]["segment_bytes"] = 6; });
  refused("'rong\\x0a'", [](Json& r) { r[0]["algorithm"] = "rong\n"; });
  for (const char* word : {"mpi", "nccl", "auto"}) {
    refused("no table may choose", [&](Json& r) { r[0]["algorithm"] = word; });
  }
  refused("not a complete table", [](Json& r) { r[0].erase("algorithm"); });
}
