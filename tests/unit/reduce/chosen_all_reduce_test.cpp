#include "reduce/chosen_all_reduce.hpp"

#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "reduce/reduce_table.hpp"

namespace rueda::test {
namespace {

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
  Event sum(std::span<float>, Event ready, ReduceJournal& journal) override {
    log_.sums.push_back(algorithm_);
    const auto entry = journal.transfer("test", 0, -1, -1);
    return ready;
  }
  Event sum_exactly(std::span<float>, Event ready, ReduceJournal&) override {
    log_.exact_sums.push_back(algorithm_);
    return ready;
  }
  std::span<float> arena() override { return arena_; }
  std::size_t scratch_floats(std::size_t length) const override {
    return algorithm_ == Algorithm::doubling ? length : length / 4;
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
  ReduceJournal journal;
  for (const std::size_t floats : {0U, 16U, 17U, 256U, 257U, 512U, 513U, 2000U})
    reduce.sum(std::span(slice).first(floats), {}, journal);
  using enum Algorithm;
  CHECK(log.sums ==
        std::vector<Algorithm>{doubling, doubling, ring, ring, doubling, doubling, shared, shared});
  reduce.sum_exactly(std::span(slice).first(100), {}, journal);
  CHECK(log.exact_sums == std::vector<Algorithm>{ring});
  CHECK(reduce.arena().size() == 8);
  CHECK(journal.take_times().transfer > 0);

  CHECK(reduce.table() == "doubling:64,ring/512:1024,doubling:2048,shared");

  // It takes the memory of the greediest way that a length reaches.
  CHECK(reduce.scratch_floats(10) == 10);
  CHECK(reduce.scratch_floats(100) == 25);   // the ring's; doubling of 16 takes less
  CHECK(reduce.scratch_floats(300) == 300);  // doubling again
  CHECK(reduce.scratch_floats(4000) == 1000);
}

TEST_CASE("a table is read as it is written", "[reduce]") {
  const ReduceTable table{{{64, {Algorithm::doubling, 0}},
                           {4096, {Algorithm::hierarchical_halving, 512}},
                           {.way = {Algorithm::ring, 1024}}}};
  CHECK(table_text(table) == "doubling:64,hierarchical-halving/512:4096,ring/1024");
  CHECK(parse_reduce_table(table_text(table)).rows == table.rows);
  for (const char* text :
       {"", "ring:64", "ring,ring", "auto", "doubling:64,ring:32", "doubling:64,doubling:64,ring",
        "wheel", "ring/", "ring/x", "doubling:,ring", "doubling:-1,ring", "ring:64/512", ",ring",
        "ring,", "ring/99999999999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_reduce_table(text), InputError);
  }
}

}  // namespace
}  // namespace rueda::test
