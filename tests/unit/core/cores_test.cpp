#include <catch2/catch.hpp>

#include "rueda/core/machine.hpp"

using namespace rueda;

namespace {

bool mentions(const ThreadChoice& choice, const std::string& word) {
  return choice.remark.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("Unbound ranks share the node's cores evenly", "[cores]") {
  const NodeCores node{{{0, 1, 2, 3}, {0, 1, 2, 3}}, 4};
  CHECK(core_share(node, 0) == Approx(2.0));
  const ThreadChoice choice = choose_threads(node, 1, 0);
  CHECK(choice.threads == 2);
  CHECK(choice.remark.empty());
}

TEST_CASE("Three ranks on three shared cores have one each, despite rounding", "[cores]") {
  const NodeCores node{{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3};
  CHECK(choose_threads(node, 2, 0).threads == 1);
  CHECK(choose_threads(node, 2, 0).remark.empty());
}

TEST_CASE("A rank bound to fewer cores than its threads says what to add", "[cores]") {
  const NodeCores node{{{0}, {1}}, 8};
  const ThreadChoice choice = choose_threads(node, 0, 4);
  CHECK(choice.threads == 4);
  CHECK(mentions(choice, "bound to 1 core "));
  CHECK(mentions(choice, "4 threads"));
  CHECK(mentions(choice, "--bind-to none"));
  CHECK(mentions(choice, "--cpus-per-task 4"));
}

TEST_CASE("Cores that the launcher leaves unused are remarked on", "[cores]") {
  const NodeCores node{{{0}, {1}}, 8};
  const ThreadChoice choice = choose_threads(node, 0, 0);
  CHECK(choice.threads == 1);
  CHECK(mentions(choice, "leaves 6 cores"));
  CHECK(mentions(choice, "--bind-to none"));
}

TEST_CASE("More ranks than cores is never silent", "[cores]") {
  const NodeCores node{{{0, 1}, {0, 1}, {0, 1}, {0, 1}}, 2};
  const ThreadChoice choice = choose_threads(node, 3, 0);
  CHECK(choice.threads == 1);
  CHECK(mentions(choice, "oversubscribed"));
  CHECK(mentions(choice, "4 ranks"));
}

TEST_CASE("A quota of the control group counts like missing cores", "[cores]") {
  const NodeCores node{{{0, 1, 2, 3}, {0, 1, 2, 3}}, 4, 2.0, true};
  CHECK(core_share(node, 0) == Approx(1.0));
  CHECK(choose_threads(node, 0, 0).threads == 1);
  CHECK(choose_threads(node, 0, 0).remark.empty());
  CHECK(mentions(choose_threads(node, 0, 2), "oversubscribed"));
}

TEST_CASE("Without a launcher nobody is told to change its options", "[cores]") {
  const NodeCores node{{{0, 1}}, 8, 0, false};
  CHECK(choose_threads(node, 0, 0).remark.empty());
}
