#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "wiring/transport.hpp"

using namespace rueda;

namespace {

OverlapFacts facts() {
  return {.ranks = 2,
          .threads_may_take_turns = true,
          .computes_on_host = true,
          .cores = 4,
          .threads = 4,
          .threads_given = false};
}

}  // namespace

TEST_CASE("overlap: on a CPU only where a core is left over", "[overlap]") {
  OverlapFacts f = facts();
  CHECK_FALSE(decide_overlap(Overlap::automatic, f).on);
  f.threads = 3;
  CHECK(decide_overlap(Overlap::automatic, f).on);
  CHECK(decide_overlap(Overlap::automatic, f).threads == 3);
  f.cores = 3.5;
  CHECK_FALSE(decide_overlap(Overlap::automatic, f).on);
}

TEST_CASE("overlap: asked for, it takes a core of those that compute", "[overlap]") {
  OverlapFacts f = facts();
  CHECK(decide_overlap(Overlap::on, f).on);
  CHECK(decide_overlap(Overlap::on, f).threads == 3);
  f.threads_given = true;
  CHECK(decide_overlap(Overlap::on, f).threads == 4);
  f = facts();
  f.threads = 1;
  f.cores = 1;
  CHECK(decide_overlap(Overlap::on, f).threads == 1);
  f.cores = 2;
  CHECK(decide_overlap(Overlap::on, f).threads == 1);
}

TEST_CASE("overlap: always where the host does not compute", "[overlap]") {
  OverlapFacts f = facts();
  f.computes_on_host = false;
  CHECK(decide_overlap(Overlap::automatic, f).on);
  CHECK(decide_overlap(Overlap::automatic, f).threads == 4);
  CHECK_FALSE(decide_overlap(Overlap::off, f).on);
}

TEST_CASE("overlap: never on one rank, nor where MPI is for one thread", "[overlap]") {
  OverlapFacts f = facts();
  f.computes_on_host = false;
  f.ranks = 1;
  CHECK_FALSE(decide_overlap(Overlap::on, f).on);
  f.ranks = 2;
  f.threads_may_take_turns = false;
  CHECK_FALSE(decide_overlap(Overlap::automatic, f).on);
  CHECK_THROWS_AS(decide_overlap(Overlap::on, f), InputError);
}
