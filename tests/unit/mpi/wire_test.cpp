// The ring with bf16 on the wire.
#include <algorithm>
#include <cmath>

#include "base/bfloat16.hpp"
#include "mpi/exchange/staged_exchange.hpp"
#include "tests/support/thread_cases.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

WireRingAllReduce wire_ring(const Place& place, std::size_t segment) {
  return {place.exchange(), place.device, segment};
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

/// Whether whole numbers, which bf16 cannot hold, are summed in fp32.
bool sums_in_fp32(AllReduce& reduce, ReduceDevice& device, TestRank& on, std::size_t length) {
  auto slice = filled<whole_value>(on.rank(), length);
  ReduceJournal unread;
  device.wait(reduce.sum_exactly(slice, device.record(), unread));
  for (std::size_t i = 0; i < length; ++i)
    if (slice[i] != whole_sum(on.size(), i)) return false;
  return true;
}

}  // namespace

TEST_CASE("a bf16 wire sums exactly what bf16 can hold", "[wire]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      for (const std::size_t segment : {0u, 1u, 7u, 64u}) {
        LazyReduceDevice device;
        auto reduce = wire_ring(on.place(device), segment);
        for (const std::size_t length : lengths_for(on.size())) {
          if (length > 5000 || (segment == 1 && length > 101)) continue;
          CHECK_ON_THREAD(on, sums_narrow_values(reduce, device, on.size(), length),
                          "{} floats in segments of {}", length, segment);
        }
      }
    });
  }
}

TEST_CASE("a bf16 wire rounds what is sent, and the owner's copy, and nothing else", "[wire]") {
  for (const int size : kSizes) {
    for (const std::size_t length : {1u, 101u, 1003u}) {
      const auto expected = rounded_sums(size, length);
      on_threads(size, [&](TestRank& on) {
        for (const std::size_t segment : {0u, 3u, 50u}) {
          LazyReduceDevice device;
          auto reduce = wire_ring(on.place(device), segment);
          const auto mine = rough_sum(reduce, device, on.rank(), length);
          CHECK_ON_THREAD(on, same_bits(mine, expected), "{} floats in segments of {}", length,
                          segment);
        }
      });
    }
  }
}

TEST_CASE("all ranks hold the same bits after a bf16 wire", "[wire]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      HostReduceDevice device;
      auto reduce = wire_ring(on.place(device), 16);
      for (int s = 0; s < 3; ++s) {
        const auto mine = rough_sum(reduce, device, on.rank(), 1003);
        CHECK_ON_THREAD(on, same_bits_on_all_ranks(on.group, mine), "sum {}", s);
      }
    });
  }
}

TEST_CASE("what must not be rounded goes over the same ring in fp32", "[wire]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      LazyReduceDevice device;
      auto reduce = wire_ring(on.place(device), 7);
      CHECK_ON_THREAD(on, sums_in_fp32(reduce, device, on, 1003), "1003 floats");
    });
  }
}

TEST_CASE("a bf16 wire takes the memory that it states", "[wire]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      for (const std::size_t segment : {0u, 1u, 7u, 5000u}) {
        for (const std::size_t length : {1u, 2u, 101u, 1003u}) {
          HostReduceDevice device;
          auto reduce = wire_ring(on.place(device), segment);
          std::vector<float> slice(length, 1.0F);
          sum_unread(reduce, slice, {});
          sum_unread(reduce, std::span(slice).subspan(length / 2), {});
          CHECK_ON_THREAD(on, device.scratch_floats() == reduce.scratch_floats(length),
                          "{} floats in segments of {}", length, segment);
        }
      }
    });
  }
}

TEST_CASE("a bf16 wire waits for a device that is late, staged too", "[wire]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      for (const bool through_host : {false, true}) {
        for (const std::size_t segment : {0u, 5u, 30u}) {
          SlowReduceDevice device(unsigned(on.rank()) + 17);
          const Place place = with(on.place(device), [&](ExchangePtr inner) -> ExchangePtr {
            if (!through_host) return inner;
            return std::make_unique<StagedExchange>(std::move(inner), device, 20);
          });
          auto reduce = wire_ring(place, segment);
          for (const std::size_t length : {1u, 53u, 200u}) {
            const auto text = fmt::format("{} floats in segments of {}, staged: {}", length,
                                          segment, through_host);
            CHECK_ON_THREAD(on, sums_narrow_values(reduce, device, on.size(), length), "{}", text);
            CHECK_ON_THREAD(on, device.pending_events() == 0, "{}", text);
          }
        }
      }
    });
  }
}

TEST_CASE("between hosts a bf16 wire leaves the same bits on all ranks", "[wire]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      HostReduceDevice device;
      const Place place = on.place(device);
      std::vector<int> hosts;
      for (int rank = 0; rank < on.size(); ++rank) hosts.push_back(rank / 2);
      HierarchicalAllReduce reduce(device, HostLayout(hosts),
                                   {.world = place.exchange(),
                                    .split = place.split,
                                    .across =
                                        [&](ExchangePtr ranks) {
                                          return std::make_unique<WireRingAllReduce>(
                                              std::move(ranks), device, 16);
                                        },
                                    .segment = 16});
      CHECK_ON_THREAD(on, sums_narrow_values(reduce, device, on.size(), 1003), "1003 floats");
      const auto mine = rough_sum(reduce, device, on.rank(), 1003);
      CHECK_ON_THREAD(on, same_bits_on_all_ranks(on.group, mine), "1003 floats");
      CHECK_ON_THREAD(on, sums_in_fp32(reduce, device, on, 101), "101 floats");
    });
  }
}
