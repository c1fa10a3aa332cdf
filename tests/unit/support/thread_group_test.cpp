#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "tests/support/thread_exchange.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

using Body = std::function<void(ThreadGroup&)>;

TEST_CASE("a rank that throws ends those that wait for it, and its error comes out",
          "[thread_group]") {
  const std::vector<Body> waits = {[](ThreadGroup& group) { group.barrier(); },
                                   [](ThreadGroup& group) {
                                     float value = 0;
                                     ThreadExchange(group).sendrecv_host({}, 1,
                                                                         std::span(&value, 1), 1);
                                   }};
  for (const Body& wait : waits) {
    CHECK_THROWS_WITH(ThreadGroup::run(3,
                                       [&](ThreadGroup& group) {
                                         if (group.rank() == 1) throw RunError("rank 1 is broken");
                                         wait(group);
                                       }),
                      "rank 1 is broken");
  }
}

TEST_CASE("ranks that wait for one that has left, or for each other, end", "[thread_group]") {
  const std::vector<Body> bodies = {
      [](ThreadGroup& group) {
        if (group.rank() != 1) group.barrier();
      },
      [](ThreadGroup& group) {  // both receive, and nothing was sent
        float value = 0;
        const int peer = 1 - group.rank();
        ThreadExchange(group).sendrecv_host({}, peer, std::span(&value, 1), peer);
      },
      [](ThreadGroup& group) {
        float value = 0;
        if (group.rank() == 0) group.barrier();
        if (group.rank() == 1) ThreadExchange(group).sendrecv_host({}, 0, std::span(&value, 1), 0);
      }};
  for (const Body& body : bodies) CHECK_THROWS_AS(ThreadGroup::run(2, body), GroupEnded);
}

TEST_CASE("a message keeps its order and its space, and has to have the length", "[thread_group]") {
  std::vector<float> got(4);
  std::vector<int> own(2);
  ThreadGroup::run(2, [&](ThreadGroup& group) {
    ThreadExchange all(group);
    ThreadExchange same(group, 7);
    own[std::size_t(group.rank())] = ThreadExchange(group, group.rank()).size();
    const std::vector<float> sent{1, 2, 3};
    if (group.rank() == 0) {
      all.sendrecv_host(std::span(sent).first(1), 1, {}, 1);
      same.sendrecv_host(std::span(sent).subspan(1, 1), 1, {}, 1);
      all.sendrecv_host(std::span(sent).last(1), 1, {}, 1);
    } else {
      same.sendrecv_host({}, 0, std::span(got).first(1), 0);
      all.sendrecv_host({}, 0, std::span(got).subspan(1, 1), 0);
      all.sendrecv_host({}, 0, std::span(got).subspan(2, 1), 0);
    }
  });
  CHECK(got == std::vector<float>{2, 1, 3, 0});
  CHECK(own == std::vector<int>{1, 1});
  CHECK_THROWS_WITH(ThreadGroup::run(2,
                                     [&](ThreadGroup& group) {
                                       std::vector<float> values(3);
                                       ThreadExchange ranks(group);
                                       if (group.rank() == 0)
                                         ranks.sendrecv_host(values, 1, {}, 1);
                                       else
                                         ranks.sendrecv_host({}, 0, std::span(values).first(2), 0);
                                     }),
                    "rank 1 expected 2 floats from rank 0 but got 3");
}

}  // namespace
