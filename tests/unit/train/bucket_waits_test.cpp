#include <catch2/catch.hpp>

#include "rueda/train/trace.hpp"

using namespace rueda;

namespace {

/// A bucket whose all-reduce lasted from `begin` to `end`, all of it in messages.
BucketRecord record(std::uint32_t step, double begin, double end) {
  BucketRecord r;
  r.step = step;
  r.begin = begin;
  r.end = end;
  r.transfer = end - begin;
  return r;
}

/// By rank, steps from `first` on.
std::vector<std::vector<StepRecord>> steps_of(std::size_t ranks, std::size_t count,
                                              std::uint32_t first = 1) {
  std::vector<StepRecord> steps(count);
  for (StepRecord& step : steps) step.step = first++;
  return {ranks, steps};
}

}  // namespace

TEST_CASE("waiting ends when the last rank begins", "[train]") {
  auto steps = steps_of(3, 2);
  std::vector<std::vector<BucketRecord>> buckets = {
      {record(1, 10, 16), record(1, 17, 18), record(2, 20, 21)},
      {record(1, 14, 16), record(1, 16.5, 18), record(2, 20.5, 21)},
      {record(1, 13, 16), record(1, 17, 18), record(2, 20, 21)}};
  book_waits(steps, buckets, std::vector<ClockFit>(3));
  CHECK(buckets[0][0].wait == Approx(4));
  CHECK(buckets[1][0].wait == 0);
  CHECK(buckets[2][0].wait == Approx(1));
  CHECK(steps[0][0].all_reduce_wait == Approx(4));
  CHECK(steps[1][0].all_reduce_wait == Approx(0.5));  // in its second bucket
  CHECK(steps[2][0].all_reduce_wait == Approx(1));
  CHECK(steps[2][1].all_reduce_wait == Approx(0.5));
  CHECK(steps[1][1].all_reduce_wait == 0);
}

TEST_CASE("no more is waited than was spent in messages", "[train]") {
  auto steps = steps_of(2, 1);
  std::vector<std::vector<BucketRecord>> buckets = {{record(1, 1, 9)}, {record(1, 5, 9)}};
  buckets[0][0].transfer = 3;
  book_waits(steps, buckets, std::vector<ClockFit>(2));
  CHECK(buckets[0][0].wait == 3);
}

TEST_CASE("an epoch that was resumed has no records of its first steps", "[train]") {
  auto steps = steps_of(2, 2, 3);
  std::vector<std::vector<BucketRecord>> buckets = {{record(3, 1, 9), record(4, 10, 12)},
                                                    {record(3, 5, 9), record(4, 11, 12)}};
  book_waits(steps, buckets, std::vector<ClockFit>(2));
  CHECK(steps[0][0].all_reduce_wait == Approx(4));
  CHECK(steps[0][1].all_reduce_wait == Approx(1));
}

TEST_CASE("waits are told on one clock", "[train]") {
  // Rank 1's clock is 100 s behind at first and 101 s at the end: it loses 1 s in 10.
  const ClockFit clock{.first_time = 0, .first = {100, 0.1}, .last_time = 10, .last = {101, 0.2}};
  CHECK(clock.to_rank0(0) == Approx(100));
  CHECK(clock.to_rank0(5) == Approx(105.5));
  CHECK(clock.to_rank0(20) == Approx(122));
  CHECK(clock.error() == 0.2);
  auto steps = steps_of(2, 1);
  std::vector<std::vector<BucketRecord>> buckets = {{record(1, 103, 110)}, {record(1, 5, 12)}};
  book_waits(steps, buckets, {ClockFit{}, clock});
  CHECK(buckets[0][0].wait == Approx(2.5));
  CHECK(buckets[1][0].wait == 0);
}
