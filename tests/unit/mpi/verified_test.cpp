// Messages with a check sum: what they change (nothing), find (every corrupted message) and tell.
#include "base/error.hpp"
#include "mpi/exchange/corrupting_exchange.hpp"
#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/exchange/verified_exchange.hpp"
#include "tests/support/thread_cases.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr std::size_t kTrainStep = 17;

/// Pretended: "h0", "h1", ...
std::vector<std::string> hosts_of(int size) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < size; ++rank) hosts.push_back("h" + std::to_string(rank));
  return hosts;
}

ExchangePtr verified(ExchangePtr inner, ReduceDevice& device) {
  auto hosts = hosts_of(inner->size());
  return std::make_unique<VerifiedExchange>(std::move(inner), std::move(hosts), device);
}

/// Goes on after a corrupted message, as no training does, so that no peer is left waiting.
class ForgivingExchange final : public OuterExchange {
 public:
  ForgivingExchange(ExchangePtr inner, std::vector<std::string>& reports)
      : OuterExchange(std::move(inner)), reports_(reports) {}

  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override {
    try {
      OuterExchange::sendrecv(send, receive, journal);
    } catch (const RunError& error) {
      reports_.push_back(error.what());
    }
  }

 private:
  std::vector<std::string>& reports_;
};

/// A sum in which one message that the last rank receives may arrive corrupted.
struct Trial {
  std::vector<float> sum;
  std::vector<std::string> reports;
  bool corrupted = false;  ///< on any rank
};

/// After `messages` that arrive unharmed.
Trial try_sum(TestRank& on, const ReduceCase& candidate, std::size_t length, bool verify,
              std::size_t messages) {
  Trial trial;
  HostReduceDevice device;
  const auto fault = std::make_shared<MessageFault>();
  *fault = {.train_step = on.rank() == on.size() - 1 ? kTrainStep : 0, .messages = messages};
  const Place place = with(on.place(device), [&](ExchangePtr inner) -> ExchangePtr {
    inner = std::make_unique<CorruptingExchange>(std::move(inner), device, fault);
    if (!verify) return inner;
    inner = verified(std::move(inner), device);
    return std::make_unique<ForgivingExchange>(std::move(inner), trial.reports);
  });
  const auto reduce = candidate.make(place);
  ReduceJournal journal;
  journal.at(kTrainStep, 3);
  trial.sum = filled<rough_value>(on.rank(), length);
  device.wait(reduce->sum(trial.sum, device.record(), journal));
  trial.corrupted = max_over_ranks(on.group, int(fault->done)) != 0;
  return trial;
}

}  // namespace

TEST_CASE("verified messages change no bit", "[verified]") {
  for (const int size : kSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : own_algorithms_and_wires()) {
        for (const bool through_host : {false, true}) {
          LazyReduceDevice device;
          const auto plain = candidate.make(on.place(device));
          const auto checked =
              candidate.make(with(on.place(device), [&](ExchangePtr inner) -> ExchangePtr {
                if (through_host)
                  inner = std::make_unique<StagedExchange>(std::move(inner), device, 20);
                return verified(std::move(inner), device);
              }));
          for (const std::size_t length : lengths_for(on.size())) {
            if (length > 1000 || length > candidate.longest) continue;
            const auto expected = rough_sum(*plain, device, on.rank(), length);
            CHECK_ON_THREAD(on, same_bits(expected, rough_sum(*checked, device, on.rank(), length)),
                            "{}, {} floats, staged: {}", candidate.name, length, through_host);
          }
        }
      }
    });
  }
}

TEST_CASE("verified messages of devices that are late", "[verified]") {
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      for (const ReduceCase& candidate : own_algorithms()) {
        SlowReduceDevice device(unsigned(on.rank()) + 5);
        const auto reduce = candidate.make(with(on.place(device), [&](ExchangePtr inner) {
          return verified(std::move(inner), device);
        }));
        CHECK_ON_THREAD(on, sums_exactly(*reduce, device, on.group, 29), "{}", candidate.name);
        CHECK_ON_THREAD(on, device.pending_events() == 0, "{}", candidate.name);
      }
    });
  }
}

TEST_CASE("every message that is corrupted is found by who receives it", "[verified]") {
  constexpr std::size_t most = 40;  // of the messages of a sum
  for (const int size : kFewSizes) {
    on_threads(size, [](TestRank& on) {
      const bool receives = on.rank() == on.size() - 1;
      for (const ReduceCase& candidate : own_algorithms_and_wires()) {
        for (const std::size_t length : {1u, 3u, 37u}) {
          for (std::size_t messages = 0; messages < most; ++messages) {
            const Trial trial = try_sum(on, candidate, length, true, messages);
            const std::size_t expected = trial.corrupted && receives ? 1 : 0;
            CHECK_ON_THREAD(on, trial.reports.size() == expected,
                            "{}, {} floats, after {} messages: {} reports", candidate.name, length,
                            messages, trial.reports.size());
            if (!trial.corrupted) break;
          }
        }
      }
    });
  }
}

TEST_CASE("of a corrupted message place, ranks, hosts, length and sums are reported",
          "[verified]") {
  for (const int size : {2, 3, 8}) {
    std::vector<std::string> reports;  // of the last rank, which receives the message
    on_threads(size, [&](TestRank& on) {
      const Trial trial = try_sum(on, ring_of(0), 10U * unsigned(on.size()), true, 0);
      if (on.rank() == on.size() - 1) reports = trial.reports;
    });
    REQUIRE(reports.size() == 1);
    const auto name = [](int rank) {
      return "rank " + std::to_string(rank) + " on h" + std::to_string(rank);
    };
    CHECK_THAT(reports[0],
               Catch::Contains("from " + name(size - 2) + " to " + name(size - 1) + ":"));
    CHECK_THAT(reports[0],
               Catch::Contains("step 17, bucket 3, reduce-scatter step 0, 10 floats, check sum "));
    CHECK_THAT(reports[0], Catch::Contains("rueda doctor"));
  }
}

// Why messages are verified at all: replicas that agree may all be wrong.
TEST_CASE("unverified, the ring hides what its first half corrupts and spreads it to all",
          "[verified]") {
  constexpr std::size_t length = 1003;
  for (const int size : {2, 3, 4, 5, 8}) {
    on_threads(size, [](TestRank& on) {
      const auto steps = std::size_t(on.size() - 1);
      const Trial right = try_sum(on, ring_of(0), length, false, 10 * steps);
      CHECK_ON_THREAD(on, !right.corrupted, "beyond the last message");
      for (std::size_t messages = 0; messages < 2 * steps; ++messages) {
        const Trial wrong = try_sum(on, ring_of(0), length, false, messages);
        const bool agree = same_bits_on_all_ranks(on.group, wrong.sum);
        const bool hidden = messages < steps;
        CHECK_ON_THREAD(on, wrong.corrupted && wrong.reports.empty(), "message {}", messages);
        CHECK_ON_THREAD(on, agree == hidden, "message {}", messages);
        CHECK_ON_THREAD(on, !hidden || !same_bits(wrong.sum, right.sum), "message {}", messages);
      }
    });
  }
}
