// The all-reduces of devices whose memory has to go through the host's.
#include <functional>

#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/sums/mpi_all_reduce.hpp"
#include "tests/support/thread_cases.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

/// The ring, the fixed order, and a sum of the exchange's own.
std::vector<ReduceCase> algorithms() {
  return {ring_of(0),
          {"fixed order",
           [](const Place& p) {
             return std::make_unique<FixedOrderAllReduce>(p.exchange(), p.device, 100);
           }},
          {"mpi",
           [](const Place& p) { return std::make_unique<MpiAllReduce>(p.exchange(), p.device); }}};
}

Place staged(const Place& place, std::size_t piece = StagedExchange::kPieceElements) {
  ReduceDevice& device = place.device;
  return with(place, [&device, piece](ExchangePtr inner) {
    return std::make_unique<StagedExchange>(std::move(inner), device, piece);
  });
}

/// Chunks of no, one, two and more pieces, one element to both sides of each.
std::vector<std::size_t> lengths_around(std::size_t piece, int ranks) {
  std::vector<std::size_t> lengths;
  for (std::size_t pieces = 0; pieces <= 4; ++pieces) {
    const std::size_t whole = pieces * piece * std::size_t(ranks);
    if (whole > 0) lengths.push_back(whole - 1);
    lengths.push_back(whole);
    lengths.push_back(whole + 1);
  }
  return lengths;
}

}  // namespace

TEST_CASE("staged sums are exact at every length", "[staging]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : algorithms()) {
        for (const std::size_t piece : {1u, 16u, 5000u}) {
          LazyReduceDevice device;
          const auto reduce = candidate.make(staged(on.place(device), piece));
          for (const std::size_t length : lengths_for(on.size())) {
            if (length > 300 * piece) continue;  // for each piece all threads meet
            CHECK_ON_THREAD(on, sums_exactly(*reduce, device, on.group, length),
                            "{}, {} floats in pieces of {}", candidate.name, length, piece);
          }
        }
      }
    });
  }
}

// The two extremes: work done at once, which overwrites what should still be sent, and as late as
// can be, which leaves what should have been written.
TEMPLATE_TEST_CASE("staged and direct sums have the same bits", "[staging]", HostReduceDevice,
                   LazyReduceDevice) {
  constexpr std::size_t piece = 33;
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      TestType device;
      for (const ReduceCase& candidate : algorithms()) {
        const auto direct = candidate.make(on.place(device));
        const auto through_host = candidate.make(staged(on.place(device), piece));
        for (const std::size_t length : lengths_around(piece, on.size())) {
          const auto expected = rough_sum(*direct, device, on.rank(), length);
          const auto sum = rough_sum(*through_host, device, on.rank(), length);
          CHECK_ON_THREAD(on, same_bits(sum, expected), "{}, {} floats", candidate.name, length);
        }
      }
    });
  }
}

TEST_CASE("long chunks are staged in pieces of the usual size", "[staging]") {
  constexpr std::size_t chunk = 2 * StagedExchange::kPieceElements + 1;
  for (const int size : {1, 2, 3, 5}) {
    on_threads(size, [](TestRank& on) {
      LazyReduceDevice device;
      const auto reduce = ring_of(0).make(staged(on.place(device)));
      const std::size_t length = chunk * std::size_t(on.size());
      CHECK_ON_THREAD(on, sums_exactly(*reduce, device, on.group, length), "{} floats", length);
    });
  }
}

TEST_CASE("staging takes no other scratch memory of the device", "[staging]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : algorithms()) {
        HostReduceDevice device;
        const auto reduce = candidate.make(staged(on.place(device), 16));
        std::vector<float> slice(1003, 1.0F);
        device.wait(sum_unread(*reduce, slice, device.record()));
        CHECK_ON_THREAD(on, device.scratch_floats() == reduce->scratch_floats(1003), "{}",
                        candidate.name);
      }
    });
  }
}
