#include <catch2/catch.hpp>

#include "rueda/core/machine.hpp"

using namespace rueda;

namespace {

using Words = std::vector<std::string>;

/// Threads that a local rank gets, and what its remark mentions; no words: there is no remark.
void check(const NodeCores& node, std::size_t local, int requested, int threads,
           const Words& words = {}) {
  const ThreadChoice choice = choose_threads(node, local, requested);
  CHECK(choice.threads == threads);
  CHECK(choice.remark.empty() == words.empty());
  for (const std::string& word : words) CHECK_THAT(choice.remark, Catch::Contains(word));
}

}  // namespace

TEST_CASE("Unbound ranks share the node's cores evenly", "[cores]") {
  const NodeCores node{{{0, 1, 2, 3}, {0, 1, 2, 3}}, 4};
  CHECK(core_share(node, 0) == Approx(2.0));
  check(node, 1, 0, 2);
  check({{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3}, 2, 0, 1);  // despite rounding
}

TEST_CASE("A rank says where its threads and the launcher's cores do not fit", "[cores]") {
  const NodeCores bound{{{0}, {1}}, 8};
  check(bound, 0, 4, 4, {"bound to 1 core ", "4 threads", "--bind-to none", "--cpus-per-task 4"});
  check(bound, 0, 0, 1, {"leaves 6 cores", "--bind-to none"});
  check({{{0, 1}, {0, 1}, {0, 1}, {0, 1}}, 2}, 3, 0, 1, {"oversubscribed", "4 ranks"});
  const NodeCores alone{{{0, 1}}, 8, 0, false};  // no launcher whose options could be changed
  check(alone, 0, 0, 2);
  check(alone, 0, 3, 3, {"may use 2 cores but runs 3 threads: lower --threads"});
}

TEST_CASE("A quota of the control group counts like missing cores", "[cores]") {
  const NodeCores node{{{0, 1, 2, 3}, {0, 1, 2, 3}}, 4, 2.0, true};
  CHECK(core_share(node, 0) == Approx(1.0));
  check(node, 0, 0, 1);
  check(node, 0, 2, 2, {"oversubscribed"});
}
