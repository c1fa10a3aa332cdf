// Messages with a check sum: what they change (nothing), find (every corrupted message) and tell.
#include "mpi/exchange/corrupting_exchange.hpp"
#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/exchange/verified_exchange.hpp"
#include "mpi/sums/wire_ring_all_reduce.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/host_reduce_device.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr std::size_t kStep = 17;

/// Those of own_algorithms, and the ring that rounds.
std::vector<Candidate> candidates() {
  auto all = own_algorithms();
  for (const std::size_t segment : {0u, 5u}) {
    all.push_back({"bf16 wire in segments of " + std::to_string(segment),
                   [segment](const Place& p) {
                     return std::make_unique<WireRingAllReduce>(p.exchange(p.world), p.device,
                                                                segment, false);
                   },
                   false, 500});
  }
  return all;
}

/// Goes on after a corrupted message, as no training does, so that no peer is left waiting.
class ForgivingExchange final : public Exchange {
 public:
  ForgivingExchange(std::unique_ptr<Exchange> inner, Communicator& ranks,
                    std::vector<std::string>& reports)
      : Exchange(ranks), inner_(std::move(inner)), reports_(reports) {}

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    try {
      inner_->sendrecv(send, to, receive, from);
    } catch (const RunError& error) {
      reports_.push_back(error.what());
    }
  }

 private:
  std::unique_ptr<Exchange> inner_;
  std::vector<std::string>& reports_;
};

/// A sum in which one message that the last rank receives may arrive corrupted.
struct Trial {
  std::vector<float> sum;
  std::vector<std::string> reports;
  bool corrupted = false;  ///< on any rank
};

Trial try_sum(Communicator& comm, const Candidate& candidate, std::size_t length, bool verified,
              std::size_t messages) {
  Trial trial;
  HostReduceDevice device;
  const auto book = std::make_shared<ReduceJournal>();
  const auto fault = std::make_shared<MessageFault>();
  *fault = {.train_step = comm.rank() == comm.size() - 1 ? kStep : 0, .messages = messages};
  const auto exchange = [&](Communicator& ranks) -> std::unique_ptr<Exchange> {
    auto made = direct_exchange(ranks);
    made = std::make_unique<CorruptingExchange>(std::move(made), ranks, device, book, fault);
    if (!verified) return made;
    made = std::make_unique<VerifiedExchange>(std::move(made), ranks, device, book);
    return std::make_unique<ForgivingExchange>(std::move(made), ranks, trial.reports);
  };
  const auto reduce = candidate.make({comm, device, exchange});
  reduce->write_into(book);
  book->at(kStep, 3);
  trial.sum = rough_sum(*reduce, device, comm.rank(), length);
  trial.corrupted = !on_all_ranks(!fault->done);
  return trial;
}

}  // namespace

TEST_CASE("verified messages change no bit", "[verified][many]") {
  Communicator comm;
  const auto book = std::make_shared<ReduceJournal>();
  for (const Candidate& candidate : candidates()) {
    for (const bool through_host : {false, true}) {
      LazyReduceDevice device;
      const auto verified = [&](Communicator& ranks) -> std::unique_ptr<Exchange> {
        auto made = direct_exchange(ranks);
        if (through_host) made = std::make_unique<StagedExchange>(ranks, device, 20);
        return std::make_unique<VerifiedExchange>(std::move(made), ranks, device, book);
      };
      const auto plain = candidate.make({comm, device});
      const auto checked = candidate.make({comm, device, verified});
      for (const std::size_t length : lengths_for(comm.size())) {
        if (length > 1000 || length > candidate.longest) continue;
        CAPTURE(candidate.name, through_host, length);
        CHECK_ON_ALL_RANKS(same_bits(rough_sum(*plain, device, comm.rank(), length),
                                     rough_sum(*checked, device, comm.rank(), length)));
      }
    }
  }
}

TEST_CASE("verified messages of devices that are late, and above the count limit", "[verified]") {
  const auto book = std::make_shared<ReduceJournal>();
  for (const std::size_t limit : {1u, 7u, 1000u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    for (const Candidate& candidate : own_algorithms()) {
      SlowReduceDevice device(unsigned(comm.rank()) + 5);
      const auto verified = [&](Communicator& ranks) -> std::unique_ptr<Exchange> {
        return std::make_unique<VerifiedExchange>(direct_exchange(ranks), ranks, device, book);
      };
      const auto reduce = candidate.make({comm, device, verified});
      CAPTURE(candidate.name, limit);
      CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, 29));
      CHECK_ON_ALL_RANKS(device.pending_events() == 0);
    }
  }
}

TEST_CASE("every message that is corrupted is found by who receives it", "[verified]") {
  constexpr std::size_t most = 40;  // of the messages of a sum
  Communicator comm;
  const bool receives = comm.rank() == comm.size() - 1;
  for (const Candidate& candidate : candidates()) {
    for (const std::size_t length : {1u, 3u, 37u}) {
      for (std::size_t messages = 0; messages < most; ++messages) {
        const Trial trial = try_sum(comm, candidate, length, true, messages);
        CAPTURE(candidate.name, length, messages, trial.reports);
        const std::size_t expected = trial.corrupted && receives ? 1 : 0;
        CHECK_ON_ALL_RANKS(trial.reports.size() == expected);
        if (!trial.corrupted) break;
      }
    }
  }
}

TEST_CASE("of a corrupted message place, ranks, hosts, length and sums are reported",
          "[verified]") {
  Communicator comm;
  if (comm.size() == 1) return;
  const Trial trial = try_sum(comm, ring_of(0), 10U * unsigned(comm.size()), true, 0);
  const int last = comm.size() - 1;
  const auto name = [&](int rank) { return "rank " + std::to_string(rank) + " on " + comm.host(); };
  const std::string text = trial.reports.empty() ? "" : trial.reports.front();
  CAPTURE(text);
  const auto tells = [&](const std::string& part) {
    return comm.rank() != last || contains(text, part);
  };
  CHECK_ON_ALL_RANKS(tells("from " + name(last - 1) + " to " + name(last) + ":"));
  CHECK_ON_ALL_RANKS(tells("step 17, bucket 3, reduce-scatter step 0, 10 floats, check sum "));
  CHECK_ON_ALL_RANKS(tells("rueda doctor"));
}

// Why messages are verified at all: replicas that agree may all be wrong.
TEST_CASE("unverified, the ring hides what its first half corrupts and spreads it to all",
          "[verified]") {
  Communicator comm;
  if (comm.size() == 1) return;
  const auto steps = std::size_t(comm.size() - 1);
  constexpr std::size_t length = 1003;
  const Trial right = try_sum(comm, ring_of(0), length, false, 10 * steps);
  REQUIRE_FALSE(right.corrupted);
  for (std::size_t messages = 0; messages < 2 * steps; ++messages) {
    const Trial wrong = try_sum(comm, ring_of(0), length, false, messages);
    CAPTURE(messages);
    CHECK_ON_ALL_RANKS(wrong.corrupted && wrong.reports.empty());
    const bool agree = same_bits_on_all_ranks(comm, wrong.sum);
    const bool hidden = messages < steps;
    CHECK_ON_ALL_RANKS(agree == hidden);
    CHECK_ON_ALL_RANKS(!hidden || !same_bits(wrong.sum, right.sum));
  }
}
