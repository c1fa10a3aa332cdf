#include <algorithm>
#include <cmath>

#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/sums/wire_ring_all_reduce.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/host_reduce_device.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

WireRingAllReduce wire_ring(Communicator& comm, ReduceDevice& device, std::size_t segment,
                            bool feedback) {
  return {direct_exchange(comm), device, segment, feedback};
}

float rounded(float value) {
  return kernels::to_float(kernels::from_float<kernels::Bfloat16>(value));
}

/// What the ring with a bf16 wire makes of rough values, by one rank alone.
std::vector<float> rounded_sums(int size, std::size_t length) {
  const RingPlan plan{length, 0, size};
  std::vector<float> expected(length);
  for (int c = 0; c < size; ++c) {
    for (std::size_t i = plan.chunk(c).begin; i < plan.chunk(c).end; ++i) {
      float sum = rough_value(c, i);
      for (int k = 1; k < size; ++k) sum = rough_value((c + k) % size, i) + rounded(sum);
      expected[i] = size == 1 ? sum : rounded(sum);
    }
  }
  return expected;
}

/// Whole numbers whose sums are bf16 numbers at every step: small powers of two of each other.
float narrow_value(std::size_t index) { return float(index % 8 + 1); }

bool sums_narrow_values(AllReduce& reduce, ReduceDevice& device, int size, std::size_t length) {
  std::vector<float> values(length), slice(length, 1e6F);
  for (std::size_t i = 0; i < length; ++i) values[i] = narrow_value(i);
  device.copy(slice, values);
  device.wait(reduce.sum(slice, device.record()));
  for (std::size_t i = 0; i < length; ++i)
    if (slice[i] != float(size) * narrow_value(i)) return false;
  return true;
}

}  // namespace

TEST_CASE("a bf16 wire sums exactly what bf16 can hold", "[wire][many]") {
  Communicator comm;
  for (const std::size_t segment : {0u, 1u, 7u, 64u}) {
    for (const bool feedback : {false, true}) {
      LazyReduceDevice device;
      auto reduce = wire_ring(comm, device, segment, feedback);
      for (const std::size_t length : lengths_for(comm.size())) {
        if (length > 5000 || (segment == 1 && length > 101)) continue;
        CAPTURE(segment, feedback, length);
        CHECK_ON_ALL_RANKS(sums_narrow_values(reduce, device, comm.size(), length));
      }
    }
  }
}

TEST_CASE("a bf16 wire rounds what is sent, and the owner's copy, and nothing else",
          "[wire][many]") {
  Communicator comm;
  for (const std::size_t segment : {0u, 3u, 50u}) {
    LazyReduceDevice device;
    auto reduce = wire_ring(comm, device, segment, false);
    for (const std::size_t length : {1u, 101u, 1003u}) {
      const auto mine = rough_sum(reduce, device, comm.rank(), length);
      CAPTURE(segment, length);
      CHECK_ON_ALL_RANKS(same_bits(mine, rounded_sums(comm.size(), length)));
    }
  }
}

TEST_CASE("error feedback makes up for what is rounded away", "[wire]") {
  constexpr std::size_t length = 203;
  constexpr int sums = 64;
  Communicator comm;
  HostReduceDevice device;
  for (const bool feedback : {false, true}) {
    auto reduce = wire_ring(comm, device, 16, feedback);
    std::vector<double> total(length);
    double worst = 0;
    const auto mine = filled<rough_value>(comm.rank(), length);
    std::vector<float> slice(length);  // in one place: feedback is kept for it
    for (int s = 0; s < sums; ++s) {
      std::copy(mine.begin(), mine.end(), slice.begin());
      reduce.sum(std::span(slice).first(100), {});
      reduce.sum(std::span(slice).subspan(100), {});
      for (std::size_t i = 0; i < length; ++i) total[i] += double(slice[i]);
    }
    for (std::size_t i = 0; i < length; ++i) {
      double exact = 0;
      for (int r = 0; r < comm.size(); ++r) exact += double(rough_value(r, i));
      worst = std::max(worst, std::abs(total[i] / sums - exact));
    }
    // A rounding of one sum: half a unit of the last of 8 bits, at each of P ranks. What remains
    // after `sums` of them is that of the last one alone.
    const double of_one = 256.0 * comm.size() * comm.size() * 0x1p-8;
    CAPTURE(feedback, worst, of_one);
    if (feedback) CHECK_ON_ALL_RANKS(worst <= 2 * of_one / sums);
    if (!feedback && comm.size() > 1) CHECK_ON_ALL_RANKS(worst > 2.0 / sums);
  }
}

TEST_CASE("all ranks hold the same bits after a bf16 wire, with feedback too", "[wire][many]") {
  Communicator comm;
  HostReduceDevice device;
  auto reduce = wire_ring(comm, device, 16, true);
  for (int s = 0; s < 3; ++s) {
    const auto mine = rough_sum(reduce, device, comm.rank(), 1003);
    CHECK_ON_ALL_RANKS(same_bits_on_all_ranks(comm, mine));
  }
}

TEST_CASE("what must not be rounded goes over the same ring in fp32", "[wire]") {
  Communicator comm;
  LazyReduceDevice device;
  auto reduce = wire_ring(comm, device, 7, true);
  auto slice = filled<whole_value>(comm.rank(), 1003);
  device.wait(reduce.sum_exactly(slice, device.record()));
  bool right = true;
  for (std::size_t i = 0; i < slice.size(); ++i) right &= slice[i] == whole_sum(comm.size(), i);
  CHECK_ON_ALL_RANKS(right);
}

TEST_CASE("a bf16 wire takes the memory that it tells, and feedback once", "[wire]") {
  Communicator comm;
  const bool alone = comm.size() == 1;
  for (const std::size_t segment : {0u, 1u, 7u, 5000u}) {
    for (const bool feedback : {false, true}) {
      for (const std::size_t length : {1u, 2u, 101u, 1003u}) {
        HostReduceDevice device;
        auto reduce = wire_ring(comm, device, segment, feedback);
        std::vector<float> slice(length, 1.0F);
        reduce.sum(slice, {});
        reduce.sum(std::span(slice).subspan(length / 2), {});
        CAPTURE(segment, feedback, length);
        CHECK_ON_ALL_RANKS(device.scratch_floats() == reduce.scratch_floats(length));
        CHECK_ON_ALL_RANKS(device.kept_floats() == reduce.kept_floats(length));
        CHECK_ON_ALL_RANKS(reduce.kept_floats(length) == (feedback && !alone ? length : 0));
      }
    }
  }
}

TEST_CASE("a bf16 wire waits for a device that is late, staged too", "[wire]") {
  Communicator comm;
  for (const bool through_host : {false, true}) {
    for (const std::size_t segment : {0u, 5u, 30u}) {
      SlowReduceDevice device(unsigned(comm.rank()) + 17);
      std::unique_ptr<Exchange> exchange = direct_exchange(comm);
      if (through_host) exchange = std::make_unique<StagedExchange>(comm, device, 20);
      WireRingAllReduce reduce(std::move(exchange), device, segment, true);
      for (const std::size_t length : {1u, 53u, 200u}) {
        CAPTURE(through_host, segment, length);
        CHECK_ON_ALL_RANKS(sums_narrow_values(reduce, device, comm.size(), length));
        CHECK_ON_ALL_RANKS(device.pending_events() == 0);
      }
    }
  }
}

TEST_CASE("between hosts a bf16 wire leaves the same bits on all ranks", "[wire][many]") {
  Communicator comm;
  HostReduceDevice device;
  std::vector<int> hosts;
  for (int rank = 0; rank < comm.size(); ++rank) hosts.push_back(rank / 2);
  HierarchicalParts parts{.exchange = direct_exchange, .across = {}, .segment = 16};
  parts.across = [&](Communicator& ranks) {
    return std::make_unique<WireRingAllReduce>(direct_exchange(ranks), device, 16, true);
  };
  HierarchicalAllReduce reduce(comm, device, HostLayout(hosts), parts);
  CHECK_ON_ALL_RANKS(sums_narrow_values(reduce, device, comm.size(), 1003));
  const auto mine = rough_sum(reduce, device, comm.rank(), 1003);
  CHECK_ON_ALL_RANKS(same_bits_on_all_ranks(comm, mine));
  auto slice = filled<whole_value>(comm.rank(), 101);
  device.wait(reduce.sum_exactly(slice, {}));
  bool right = true;
  for (std::size_t i = 0; i < slice.size(); ++i) right &= slice[i] == whole_sum(comm.size(), i);
  CHECK_ON_ALL_RANKS(right);
}
