#include "mpi/session/watchdog.hpp"

#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/mpi_check.hpp"

using namespace rueda;

TEST_CASE("a stall is described with its place and peers") {
  const ReduceJournal journal;
  const Watched rank{.rank = 1, .host = "h0", .journal = journal};
  const ReduceNow now{.act = {ReduceAct::Kind::transfer, "reduce-scatter", 0, 2, 0},
                      .train_step = 17,
                      .bucket = 2,
                      .since = {}};
  CHECK_ON_ALL_RANKS(describe_stall(rank, "MPI_Sendrecv", 121.7, now) ==
                     "the ring is stuck. rank 1 on h0: in MPI_Sendrecv for 121 s: step 17, "
                     "bucket 2, reduce-scatter step 0, sends to rank 2, receives from rank 0");
  CHECK_ON_ALL_RANKS(describe_stall(rank, "MPI_Barrier", 3, {}) ==
                     "stuck outside the ring. rank 1 on h0: in MPI_Barrier for 3 s");
}

TEST_CASE("a journal shows what goes on, adds up times and keeps acts if told") {
  ReduceJournal journal;
  journal.at(5, 1);
  journal.keep_spans(true);
  journal.transfer("all-gather", 3, 1, 2, [&] {
    const ReduceNow now = journal.now();
    CHECK_ON_ALL_RANKS(now.act.kind == ReduceAct::Kind::transfer);
    CHECK_ON_ALL_RANKS(now.act.phase == std::string("all-gather"));
    CHECK_ON_ALL_RANKS((now.act.step == 3 && now.act.to == 1 && now.act.from == 2));
    CHECK_ON_ALL_RANKS((now.train_step == 5 && now.bucket == 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  CHECK_ON_ALL_RANKS(journal.now().act.kind == ReduceAct::Kind::none);
  journal.add("all-gather", 3, [] {});
  const auto spans = journal.take_spans();
  CHECK_ON_ALL_RANKS(spans.size() == 2);
  CHECK_ON_ALL_RANKS(spans[0].end - spans[0].begin >= std::chrono::milliseconds(2));
  CHECK_ON_ALL_RANKS((spans[1].act.kind == ReduceAct::Kind::add && spans[1].bucket == 1));
  const ReduceTimes times = journal.take_times();
  CHECK_ON_ALL_RANKS(times.transfer >= 0.002);
  CHECK_ON_ALL_RANKS(times.add < times.transfer);
  CHECK_ON_ALL_RANKS(journal.take_times().transfer == 0);
  journal.keep_spans(false);
  journal.add("all-gather", 3, [] {});
  CHECK_ON_ALL_RANKS(journal.take_spans().empty());
}

TEST_CASE("a watchdog over a group that moves lets it go on") {
  ReduceJournal journal;
  const Watchdog dog({.rank = 0, .host = "h", .journal = journal, .seconds = 1.5});
  for (int i = 0; i < 8; ++i) {  // longer than the limit, but no call of it is
    const MpiCall call("MPI_Something");
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
}
