// What holds for every all-reduce that sends messages, between ranks that are threads.
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "mpi/exchange/outer_exchange.hpp"
#include "mpi/exchange/staged_exchange.hpp"
#include "tests/support/thread_cases.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

/// An exchange of a rank that is sometimes late.
class DelayedExchange final : public OuterExchange {
 public:
  explicit DelayedExchange(ExchangePtr inner)
      : OuterExchange(std::move(inner)), random_(unsigned(world_rank(rank())) + 3) {}

  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override {
    if (random_() % 4 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 2000));
    OuterExchange::sendrecv(send, receive, journal);
  }

 private:
  std::minstd_rand random_;
};

/// serial_trees of each length, once for all ranks.
std::map<std::size_t, std::vector<float>> trees_of(int size,
                                                   const std::vector<std::size_t>& lengths) {
  std::map<std::size_t, std::vector<float>> all;
  for (const std::size_t length : lengths) all.emplace(length, serial_trees(size, length));
  return all;
}

}  // namespace

TEST_CASE("every algorithm sums whole numbers exactly at every length", "[algorithms]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : own_algorithms()) {
        LazyReduceDevice device;
        const auto reduce = candidate.make(on.place(device));
        for (const std::size_t length : lengths_for(on.size())) {
          if (length > candidate.longest) continue;
          CHECK_ON_THREAD(on, sums_exactly(*reduce, device, on.group, length), "{}, {} floats",
                          candidate.name, length);
        }
      }
    });
  }
}

TEST_CASE("every algorithm leaves the same bits on all ranks, near those of one that adds alone",
          "[algorithms]") {
  const std::vector<std::size_t> lengths{1, 13, 101, 4099};
  for (const int size : kSizes) {
    const auto trees = trees_of(size, lengths);
    on_threads(size, [&](TestRank& on) {
      HostReduceDevice device;
      for (const ReduceCase& candidate : own_algorithms()) {
        const auto reduce = candidate.make(on.place(device));
        for (const std::size_t length : lengths) {
          if (length > candidate.longest) continue;
          const auto mine = rough_sum(*reduce, device, on.rank(), length);
          const auto again = rough_sum(*reduce, device, on.rank(), length);
          const auto text = fmt::format("{}, {} floats", candidate.name, length);
          CHECK_ON_THREAD(on, same_bits_on_all_ranks(on.group, mine), "{}", text);
          CHECK_ON_THREAD(on, close_to(mine, trees.at(length), size), "{}", text);
          CHECK_ON_THREAD(on, same_bits(mine, again), "{}", text);
        }
      }
    });
  }
}

TEST_CASE("what adds along the tree has the bits of one rank that adds alone", "[algorithms]") {
  for (const int size : kSizes) {
    const auto trees = trees_of(size, lengths_for(size));
    on_threads(size, [&](TestRank& on) {
      HostReduceDevice device;
      for (const ReduceCase& candidate : own_algorithms()) {
        if (!candidate.has_tree_order) continue;
        const auto reduce = candidate.make(on.place(device));
        for (const auto& [length, expected] : trees) {
          if (length > candidate.longest) continue;
          auto slice = filled<rough_value>(on.rank(), length);
          sum_unread(*reduce, std::span(slice).first(length / 3), {});
          sum_unread(*reduce, std::span(slice).subspan(length / 3), {});
          CHECK_ON_THREAD(on, same_bits(slice, expected), "{}, {} floats", candidate.name, length);
        }
      }
    });
  }
}

TEST_CASE("segments change no bit of the ring", "[algorithms]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      HostReduceDevice device;
      const auto whole = ring_of(0).make(on.place(device));
      for (const std::size_t length : {5u, 101u, 203u}) {
        const auto expected = rough_sum(*whole, device, on.rank(), length);
        for (const std::size_t segment : {1u, 2u, 3u, 16u, 100u, 5000u}) {
          const auto ring = ring_of(segment).make(on.place(device));
          CHECK_ON_THREAD(on, same_bits(expected, rough_sum(*ring, device, on.rank(), length)),
                          "{} floats in segments of {}", length, segment);
        }
      }
    });
  }
}

TEST_CASE("every algorithm takes the scratch memory that it tells", "[algorithms]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : own_algorithms()) {
        for (const std::size_t length : lengths_for(on.size())) {
          if (length > candidate.longest) continue;
          HostReduceDevice device;
          const auto reduce = candidate.make(on.place(device));
          std::vector<float> slice(length, 1.0F);
          device.wait(sum_unread(*reduce, slice, device.record()));
          CHECK_ON_THREAD(on, device.scratch_floats() == reduce->scratch_floats(length),
                          "{}, {} floats: {} and {}", candidate.name, length,
                          device.scratch_floats(), reduce->scratch_floats(length));
        }
      }
    });
  }
}

TEST_CASE("every algorithm waits for a device that is late", "[algorithms]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : own_algorithms()) {
        for (const bool through_host : {false, true}) {
          SlowReduceDevice device(unsigned(on.rank()) + 11);
          const Place place = with(on.place(device), [&](ExchangePtr inner) -> ExchangePtr {
            if (!through_host) return inner;
            return std::make_unique<StagedExchange>(std::move(inner), device, 50);
          });
          const auto reduce = candidate.make(place);
          for (const std::size_t length : {1u, 29u, 203u}) {
            const auto text =
                fmt::format("{}, {} floats, staged: {}", candidate.name, length, through_host);
            CHECK_ON_THREAD(on, sums_exactly(*reduce, device, on.group, length), "{}", text);
            CHECK_ON_THREAD(on, device.pending_events() == 0, "{}", text);
          }
        }
      }
    });
  }
}

TEST_CASE("ranks that are late now and then change nothing", "[algorithms]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : own_algorithms()) {
        LazyReduceDevice device;
        const auto reduce = candidate.make(with(on.place(device), [](ExchangePtr inner) {
          return std::make_unique<DelayedExchange>(std::move(inner));
        }));
        CHECK_ON_THREAD(on, sums_exactly(*reduce, device, on.group, 61), "{}", candidate.name);
      }
    });
  }
}

TEST_CASE("an all-reduce writes into the journal that it is given", "[algorithms]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      HostReduceDevice device;
      ReduceJournal journal;
      for (const ReduceCase& candidate : own_algorithms()) {
        const auto reduce = candidate.make(on.place(device));
        std::vector<float> slice(1003, 1.0F);
        reduce->sum(slice, {}, journal);
        const double transfer = journal.take_times().transfer;
        CHECK_ON_THREAD(on, (transfer > 0) == (on.size() > 1), "{}", candidate.name);
      }
    });
  }
}
