#include "reduce/reduce_journal.hpp"

#include <catch2/catch.hpp>

using namespace rueda;

namespace {

/// A message that takes a moment, and what the journal keeps of it.
TimedMessage message(ReduceJournal& journal, int to, int from) {
  {
    const auto entry = journal.transfer("ring", 0, to, from);
    const SteadyTime begin = SteadyClock::now();
    while (SteadyClock::now() == begin) continue;
  }
  return journal.take_times().long_message;
}

}  // namespace

TEST_CASE("a journal counts the messages to each peer and from each", "[reduce]") {
  ReduceJournal journal;
  const auto first = message(journal, 1, 2);
  CHECK(first.to == 1);
  CHECK(first.from == 2);
  CHECK(first.sent == 1);
  CHECK(first.received == 1);
  CHECK(first.seconds > 0);
  const auto second = message(journal, 1, 2);
  CHECK(second.sent == 2);
  CHECK(second.received == 2);
  CHECK(second.begin >= first.end());
  const auto other = message(journal, 3, 2);
  CHECK(other.sent == 1);
  CHECK(other.received == 3);
  const auto one_way = message(journal, -1, 1);
  CHECK(one_way.sent == 0);
  CHECK(one_way.received == 1);
  { const auto entry = journal.add("ring", 0); }
  CHECK(journal.take_times().long_message.to == -1);
}

TEST_CASE("the first of the long messages is kept", "[reduce]") {
  TimedMessage kept;
  for (const double seconds : {0.1, 0.2, 0.15, 5.0, 9.9, 10.0, 0.1})
    kept.keep_longer({.begin = 1, .seconds = seconds});
  CHECK(kept.seconds == 5);
  kept.keep_longer({.begin = 2, .seconds = 10.1});
  CHECK(kept.begin == 2);
}
