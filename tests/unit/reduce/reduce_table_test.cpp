#include <functional>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "commands/bench/record.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/chosen_all_reduce.hpp"
#include "tests/support/common.hpp"
#include "wiring/reduce_tables.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;
using namespace rueda::bench;

using Json = nlohmann::ordered_json;

const rueda::TablePlace kHere{{0, 0, 1, 1}, "cpu", "host"};

SystemInfo system_info() {
  SystemInfo system;
  system.hosts = {"a", "a", "b", "b"};
  system.backend = "cpu";
  system.transport = "host";
  return system;
}

/// Doubling is faster up to 64 B, the ring at 256 B and above.
std::vector<Row> trials() {
  const ReduceWay doubling{Algorithm::doubling, 0};
  const ReduceWay ring{Algorithm::ring, 0};
  return {{{16}, ring, {2, 3, 2}},   {{16}, doubling, {1, 1, 9}}, {{64}, ring, {3}},
          {{64}, doubling, {2}},     {{256}, ring, {4}},          {{256}, doubling, {8}},
          {{1024}, doubling, {9.8}}, {{1024}, ring, {10}}};
}

std::string refusal(const std::string& text, const rueda::TablePlace& here = kHere) {
  return test::refusal([&] { parse_reduce_table(text, "t.json", here); });
}

std::string file() { return table_file_text(system_info(), choose_table(trials()), trials()); }

std::string changed(const std::function<void(Json&)>& change) {
  Json json = Json::parse(file());
  change(json);
  return json.dump();
}

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
  REQUIRE(rueda::rows_hash(read) == Json::parse(file()).at("rows_hash").get<std::string>());
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
  for (const char* word : {"mpi", "nccl", "auto"})
    refused("no table may choose", [&](Json& r) { r[0]["algorithm"] = word; });
  refused("not a complete table", [](Json& r) { r[0].erase("algorithm"); });
}

/// What was asked for, in the order in which it was.
struct Log {
  std::vector<ReduceWay> made;
  std::vector<Algorithm> sums;
  std::vector<Algorithm> exact_sums;
};

class LoggedAllReduce final : public AllReduce {
 public:
  LoggedAllReduce(Log& log, Algorithm algorithm) : log_(log), algorithm_(algorithm) {
    if (algorithm == Algorithm::shared) arena_.resize(8);
  }
  std::string_view name() const override { return to_string(algorithm_); }
  Event sum(std::span<float>, Event ready) override {
    log_.sums.push_back(algorithm_);
    journal().transfer("test", 0, -1, -1, [] {});
    return ready;
  }
  Event sum_exactly(std::span<float>, Event ready) override {
    log_.exact_sums.push_back(algorithm_);
    return ready;
  }
  std::span<float> arena() override { return arena_; }
  std::size_t scratch_floats(std::size_t length) const override {
    return algorithm_ == Algorithm::doubling ? length : length / 4;
  }
  std::size_t kept_floats(std::size_t length) const override {
    return algorithm_ == Algorithm::ring ? length : 0;
  }

 private:
  Log& log_;
  Algorithm algorithm_;
  std::vector<float> arena_;
};

TEST_CASE("a table's way is taken for each length, and made once", "[reduce]") {
  Log log;
  const ReduceTable table{{{64, {Algorithm::doubling, 0}},
                           {1024, {Algorithm::ring, 512}},
                           {2048, {Algorithm::doubling, 0}},
                           {.way = {Algorithm::shared, 0}}}};
  ChosenAllReduce reduce(table, [&](const ReduceWay& way) {
    log.made.push_back(way);
    return std::make_unique<LoggedAllReduce>(log, way.algorithm);
  });
  CHECK(log.made == std::vector<ReduceWay>{
                        {Algorithm::doubling, 0}, {Algorithm::ring, 512}, {Algorithm::shared, 0}});
  CHECK(reduce.name() == "auto (doubling to 64 bytes, ring to 1 KiB, doubling to 2 KiB, shared)");

  std::vector<float> slice(2000);
  for (const std::size_t floats : {0U, 16U, 17U, 256U, 257U, 512U, 513U, 2000U})
    reduce.sum(std::span(slice).first(floats), {});
  using enum Algorithm;
  CHECK(log.sums ==
        std::vector<Algorithm>{doubling, doubling, ring, ring, doubling, doubling, shared, shared});
  reduce.sum_exactly(std::span(slice).first(100), {});
  CHECK(log.exact_sums == std::vector<Algorithm>{ring});
  CHECK(reduce.arena().size() == 8);
  CHECK(reduce.journal().take_times().transfer > 0);

  // It takes the memory of the greediest way that a length reaches.
  CHECK(reduce.scratch_floats(10) == 10);
  CHECK(reduce.scratch_floats(100) == 25);   // the ring's; doubling of 16 takes less
  CHECK(reduce.scratch_floats(300) == 300);  // doubling again
  CHECK(reduce.scratch_floats(4000) == 1000);
  CHECK(reduce.kept_floats(4000) == 4000);
}

}  // namespace
}  // namespace rueda::test
