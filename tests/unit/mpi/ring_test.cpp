// What the ring, the fixed order and sums over hosts are, each for itself.
#include <algorithm>

#include "commands/bench/bench.hpp"
#include "mpi/exchange/outer_exchange.hpp"
#include "tests/support/thread_cases.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

/// Chunk c added in the order c, c+1, ..., by one rank alone.
std::vector<float> serial_ring(int size, std::size_t length) {
  const RingPlan plan{length, 0, size};
  std::vector<float> expected(length);
  for (int c = 0; c < size; ++c) {
    for (std::size_t i = plan.chunk(c).begin; i < plan.chunk(c).end; ++i) {
      float sum = rough_value(c, i);
      for (int k = 1; k < size; ++k) sum = rough_value((c + k) % size, i) + sum;
      expected[i] = sum;
    }
  }
  return expected;
}

/// Hosts of two ranks each.
ReduceCase pairs(bool fixed_order) {
  return hierarchy_of(
      "pairs", 0, [](int rank) { return rank / 2; }, fixed_order);
}

TEST_CASE("the ring adds chunk c in the order c, c+1, ...", "[ring]") {
  for (const int size : kSizes) {
    const auto expected = serial_ring(size, 1003);
    on_threads(size, [&](TestRank& on) {
      HostReduceDevice device;
      const auto ring = ring_of(0).make(on.place(device));
      CHECK_ON_THREAD(on, same_bits(rough_sum(*ring, device, on.rank(), 1003), expected), "1003");
    });
  }
}

/// Floats of scratch that the ring takes for chunks of `chunk` floats.
template <class Device>
std::size_t scratch_of_ring(TestRank& on, std::size_t chunk, std::size_t segment) {
  Device device;
  const auto ring = ring_of(segment).make(on.place(device));
  std::vector<float> slice(chunk * std::size_t(on.size()), 1.0F);
  device.wait(sum_unread(*ring, slice, device.record()));
  return device.scratch_floats();
}

TEST_CASE("segments take turns in scratch memory only where the device adds meanwhile", "[ring]") {
  on_threads(3, [](TestRank& on) {
    const std::size_t host = scratch_of_ring<HostReduceDevice>(on, 100, 10);
    const std::size_t device = scratch_of_ring<LazyReduceDevice>(on, 100, 10);
    CHECK_ON_THREAD(on, host == 10, "{}", host);
    CHECK_ON_THREAD(on, device == 20, "{}", device);
  });
}

TEST_CASE("the ring tells where its time went", "[ring]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      HostReduceDevice device;
      const auto ring = ring_of(0).make(on.place(device));
      std::vector<float> slice(100003, 1.0f);
      ReduceJournal journal;
      ring->sum(slice, {}, journal);
      const auto times = journal.take_times();
      const bool alone = on.size() == 1;
      CHECK_ON_THREAD(on, alone ? times.transfer == 0 : times.transfer > 0, "{}", times.transfer);
      CHECK_ON_THREAD(on, alone ? times.add == 0 : times.add > 0, "{}", times.add);
      CHECK_ON_THREAD(on, journal.take_times().transfer == 0, "taken");
    });
  }
}

TEST_CASE("neither blocks nor slices change a bit of the fixed order", "[fixed_order]") {
  constexpr std::size_t length = 1003;
  for (const int size : kSizes) {
    const auto expected = serial_trees(size, length);
    on_threads(size, [&](TestRank& on) {
      for (const std::size_t scratch : {1u, 10u, 64u, 5000u}) {
        LazyReduceDevice device;
        FixedOrderAllReduce fixed(on.place(device).exchange(), device, scratch);
        auto slice = filled<rough_value>(on.rank(), length);
        sum_unread(fixed, std::span(slice).first(409), device.record());
        sum_unread(fixed, std::span(slice).subspan(409), device.record());
        const auto peers = std::size_t(on.size() - 1);
        CHECK_ON_THREAD(on, same_bits(slice, expected), "scratch {}", scratch);
        CHECK_ON_THREAD(on, device.scratch_floats() <= std::max(scratch, peers), "scratch {}",
                        scratch);
      }
    });
  }
}

TEST_CASE("the fixed order differs from the ring's, else it would prove nothing", "[fixed_order]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      HostReduceDevice device;
      FixedOrderAllReduce fixed(on.place(device).exchange(), device);
      const auto ring = ring_of(0).make(on.place(device));
      const auto in_order = rough_sum(fixed, device, on.rank(), 4099);
      const auto round_the_ring = rough_sum(*ring, device, on.rank(), 4099);
      CHECK_ON_THREAD(on, same_bits(in_order, round_the_ring) == (on.size() <= 2), "4099");
      CHECK_ON_THREAD(on, close_to(in_order, round_the_ring, on.size()), "4099");
    });
  }
}

TEST_CASE("ranks that added micro-batches first have the bits of one rank", "[fixed_order]") {
  constexpr int micro_batches = 4;
  constexpr std::size_t length = 1000;
  for (const int size : kFewSizes) {
    const auto expected = serial_trees(size * micro_batches, length);
    on_threads(size, [&](TestRank& on) {
      LazyReduceDevice device;
      FixedOrderAllReduce fixed(on.place(device).exchange(), device);
      std::vector<float> slice(length);
      const int first = on.rank() * micro_batches;
      for (std::size_t i = 0; i < length; ++i) {
        slice[i] = (rough_value(first, i) + rough_value(first + 1, i)) +
                   (rough_value(first + 2, i) + rough_value(first + 3, i));
      }
      sum_unread(fixed, slice, device.record());
      CHECK_ON_THREAD(on, same_bits(slice, expected), "{} micro-batches", micro_batches);
    });
  }
}

TEST_CASE("a layout numbers hosts by their first ranks; some keep the order of the tree",
          "[hierarchical]") {
  const HostLayout layout({7, 2, 7, 2, 2, 9});
  CHECK(layout.hosts() == 3);
  CHECK(layout.host_of(0) == 0);
  CHECK(layout.host_of(4) == 1);
  CHECK(layout.ranks_on(1) == std::vector<int>{1, 3, 4});
  CHECK(layout.local_rank_of(2) == 1);
  CHECK(layout.local_rank_of(4) == 2);
  CHECK(layout.fewest() == 1);
  CHECK(layout.most() == 3);
  CHECK(HostLayout({3, 3, 3}).keeps_tree_order());
  CHECK(HostLayout({0, 1, 2}).keeps_tree_order());
  CHECK(HostLayout({0, 0, 1, 1, 2, 2}).keeps_tree_order());
  CHECK_FALSE(HostLayout({0, 1, 0, 1}).keeps_tree_order());
  CHECK_FALSE(HostLayout({0, 0, 0, 1, 1, 1}).keeps_tree_order());
  CHECK_FALSE(HostLayout({0, 0, 1}).keeps_tree_order());
}

TEST_CASE("hosts of two ranks each keep the fixed order", "[hierarchical]") {
  for (const int size : {2, 4, 6, 8, 12}) {
    const auto expected = serial_trees(size, 1003);
    on_threads(size, [&](TestRank& on) {
      HostReduceDevice device;
      const auto reduce = pairs(true).make(on.place(device));
      CHECK_ON_THREAD(on, same_bits(rough_sum(*reduce, device, on.rank(), 1003), expected), "1003");
    });
  }
}

TEST_CASE("between hosts only shards travel", "[hierarchical]") {
  for (const int size : {2, 4, 6, 8, 12}) {
    on_threads(size, [](TestRank& on) {
      HostReduceDevice device;
      const auto reduce = pairs(false).make(on.place(device));
      ReduceJournal journal;
      journal.keep_spans(true);
      std::vector<float> slice(1000, 1.0F);
      reduce->sum(slice, {}, journal);
      const auto spans = journal.take_spans();
      const auto leaves = std::ranges::count_if(spans, [&](const ReduceSpan& span) {
        return span.act.to >= 0 && span.act.to / 2 != on.rank() / 2;
      });
      CHECK_ON_THREAD(on, leaves == 2 * (on.size() / 2 - 1), "{} messages", leaves);
    });
  }
}

TEST_CASE("halving has the bits of the fixed order where its fold is a part of the tree",
          "[halving]") {
  for (const int size : kSizes) {
    const auto expected = serial_trees(size, 1003);
    on_threads(size, [&](TestRank& on) {
      HostReduceDevice device;
      const auto halving = make_halving(on.place(device).exchange(), device);
      auto slice = filled<rough_value>(on.rank(), 1003);
      sum_unread(*halving, std::span(slice).first(409), {});
      sum_unread(*halving, std::span(slice).subspan(409), {});
      CHECK_ON_THREAD(on, same_bits(slice, expected) == halving_keeps_tree_order(size), "1003");
    });
  }
}

TEST_CASE("a sum is near the exact one, by halving too", "[halving]") {
  for (const int size : kSizes) {
    for (const std::size_t length : lengths_for(size)) {
      std::vector<double> exact(length);
      for (int rank = 0; rank < size; ++rank)
        for (std::size_t i = 0; i < length; ++i) exact[i] += double(rough_value(rank, i));
      on_threads(size, [&](TestRank& on) {
        HostReduceDevice device;
        const auto halving = make_halving(on.place(device).exchange(), device);
        const auto mine = rough_sum(*halving, device, on.rank(), length);
        const std::vector<float> rounded(exact.begin(), exact.end());
        CHECK_ON_THREAD(on, close_to(mine, rounded, size), "{} floats", length);
      });
    }
  }
}

// What `rueda bench explain` prints is what the all-reduces send.
struct Call {
  int to = -1;    ///< -1: it sent nothing
  int from = -1;  ///< -1: it received nothing
  std::size_t floats = 0;
  bool operator==(const Call&) const = default;
};
using Calls = std::vector<Call>;

/// Notes each message of this rank.
class NotingExchange final : public OuterExchange {
 public:
  NotingExchange(ExchangePtr inner, Calls& calls)
      : OuterExchange(std::move(inner)), calls_(calls) {}
  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override {
    calls_.push_back({send.floats.empty() ? -1 : send.to,
                      receive.floats.empty() ? -1 : receive.from,
                      std::max(send.floats.size(), receive.floats.size())});
    OuterExchange::sendrecv(send, receive, journal);
  }

 private:
  Calls& calls_;
};

std::unique_ptr<AllReduce> make(Algorithm algorithm, ExchangePtr exchange, ReduceDevice& device) {
  if (algorithm == Algorithm::doubling) return make_doubling(std::move(exchange), device);
  if (algorithm == Algorithm::halving) return make_halving(std::move(exchange), device);
  return std::make_unique<CentralAllReduce>(std::move(exchange), device);
}

/// The calls of one rank, by the schedule.
Calls planned(const bench::Schedule& schedule, int rank) {
  Calls calls;
  for (const bench::Step& step : schedule.steps) {
    Call call;
    for (const bench::Message& m : step.messages) {
      if (m.from == rank) call.to = m.to;
      if (m.to == rank) call.from = m.from;
      if (m.from == rank || m.to == rank)
        call.floats = std::max(call.floats, schedule.floats(m.chunks));
    }
    if (call.to >= 0 || call.from >= 0) calls.push_back(call);
  }
  return calls;
}

TEST_CASE("doubling, halving and central send what bench explains", "[ring]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      for (const Algorithm algorithm :
           {Algorithm::doubling, Algorithm::halving, Algorithm::central}) {
        HostReduceDevice device;
        Calls calls;
        const auto reduce =
            make(algorithm, std::make_unique<NotingExchange>(on.place(device).exchange(), calls),
                 device);
        std::vector<float> slice(5, 1.0F);
        device.wait(sum_unread(*reduce, slice, device.record()));
        CHECK_ON_THREAD(on,
                        calls == planned(bench::schedule_of(algorithm, on.size(), 5), on.rank()),
                        "{}", to_string(algorithm));
      }
    });
  }
}

}  // namespace
