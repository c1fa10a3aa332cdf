// What `rueda bench explain` prints is what the all-reduces send.
#include "commands/bench/schedule.hpp"

#include "mpi/sums/message_sums.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

struct Call {
  int to = -1;    ///< -1: it sent nothing
  int from = -1;  ///< -1: it received nothing
  std::size_t floats = 0;
  bool operator==(const Call&) const = default;
};
using Calls = std::vector<Call>;

/// Notes each message of this rank.
class NotingExchange final : public Exchange {
 public:
  NotingExchange(Communicator& ranks, Calls& calls) : Exchange(ranks), calls_(calls) {}
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    calls_.push_back({send.empty() ? -1 : to, receive.empty() ? -1 : from,
                      std::max(send.size(), receive.size())});
    Exchange::sendrecv(send, to, receive, from);
  }

 private:
  Calls& calls_;
};

std::unique_ptr<AllReduce> make(Algorithm algorithm, std::unique_ptr<Exchange> exchange,
                                ReduceDevice& device) {
  if (algorithm == Algorithm::doubling) {
    return std::make_unique<DoublingAllReduce>(std::move(exchange), device);
  }
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
    }
    call.floats = schedule.length;
    if (call.to >= 0 || call.from >= 0) calls.push_back(call);
  }
  return calls;
}

}  // namespace

TEST_CASE("doubling and central send what bench explains", "[many]") {
  Communicator comm;
  for (const Algorithm algorithm : {Algorithm::doubling, Algorithm::central}) {
    HostReduceDevice device;
    Calls calls;
    const auto reduce = make(algorithm, std::make_unique<NotingExchange>(comm, calls), device);
    std::vector<float> slice(5, 1.0F);
    device.wait(reduce->sum(slice, device.record()));
    CAPTURE(to_string(algorithm));
    CHECK_ON_ALL_RANKS(calls ==
                       planned(bench::schedule_of(algorithm, comm.size(), 5), comm.rank()));
  }
}
