#include "observed_schedule.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "mpi/sums/whole_slice_sums.hpp"
#include "rueda/core/error.hpp"
#if RUEDA_WITH_CPU
#include "cpu/host_reduce_device.hpp"
#endif

namespace rueda::bench {

#if RUEDA_WITH_CPU
namespace {

auto at(int index) { return static_cast<std::size_t>(index); }

/// A message as its sender and its receiver count their calls.
struct Sent {
  int from = 0;
  int to = 0;
  std::size_t from_call = 0;
  std::size_t to_call = 0;
  std::string phase;
  float value = 0;
};

/// What is on its way between threads, and all that ever was. The threads are few and short-lived:
/// one lock for everything.
class Wires {
 public:
  explicit Wires(int ranks) : channels_(at(ranks * ranks)), ranks_(ranks) {}

  void send(Sent message) {
    const std::lock_guard lock(mutex_);
    channel(message.from, message.to).push_back(std::move(message));
    arrived_.notify_all();
  }
  float receive(int from, int to, std::size_t call) {
    std::unique_lock lock(mutex_);
    auto& queue = channel(from, to);
    arrived_.wait(lock, [&queue] { return !queue.empty(); });
    queue.front().to_call = call;
    log_.push_back(queue.front());
    queue.pop_front();
    return log_.back().value;
  }
  const std::vector<Sent>& log() const { return log_; }

 private:
  std::deque<Sent>& channel(int from, int to) { return channels_[at(from * ranks_ + to)]; }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::deque<Sent>> channels_;
  std::vector<Sent> log_;
  int ranks_;
};

/// One float at a time between threads.
class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(Wires& wires, int rank, int size) : wires_(wires), rank_(rank), size_(size) {}

  void works_for(AllReduce& reduce) { reduce_ = &reduce; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int world_rank(int rank) const override { return rank; }
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    const std::size_t call = calls_++;
    const std::string phase = reduce_->journal().now().act.phase;
    if (!send.empty()) wires_.send({rank_, to, call, 0, phase, send[0]});
    if (!receive.empty()) receive[0] = wires_.receive(from, rank_, call);
  }
  void all_reduce_sum(std::span<float>) override { throw RunError("no MPI here"); }

 private:
  Wires& wires_;
  int rank_;
  int size_;
  std::size_t calls_ = 0;
  AllReduce* reduce_ = nullptr;
};

/// The sum of one float, 2^rank: its bits tell whose values are in a partial sum.
void sum_as(Algorithm algorithm, Wires& wires, int rank, int size) {
  cpu::HostReduceDevice device;
  auto exchange = std::make_unique<ThreadExchange>(wires, rank, size);
  ThreadExchange& link = *exchange;
  std::unique_ptr<AllReduce> reduce;
  if (algorithm == Algorithm::doubling) {
    reduce = std::make_unique<DoublingAllReduce>(std::move(exchange), device);
  } else {
    reduce = std::make_unique<CentralAllReduce>(std::move(exchange), device);
  }
  link.works_for(*reduce);
  auto value = static_cast<float>(1U << static_cast<unsigned>(rank));
  device.wait(reduce->sum({&value, 1}, device.record()));
}

std::vector<Sent> run_threads(Algorithm algorithm, int ranks) {
  Wires wires(ranks);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { sum_as(algorithm, wires, rank, ranks); });
    }
  }
  return wires.log();
}

/// The step of each call of each rank: one after the other, and the same for both ends of a
/// message.
class CallSteps {
 public:
  CallSteps(const std::vector<Sent>& log, int ranks) : steps_(at(ranks)) {
    for (const Sent& s : log) {
      make_room(s.from, s.from_call);
      make_room(s.to, s.to_call);
    }
    while (settle(log)) {
    }
  }
  int of(const Sent& s) const { return steps_[at(s.from)][s.from_call]; }

 private:
  void make_room(int rank, std::size_t call) {
    auto& steps = steps_[at(rank)];
    steps.resize(std::max(steps.size(), call + 1), 0);
  }
  /// Whether anything had to be moved to a later step.
  bool settle(const std::vector<Sent>& log) {
    const auto before = steps_;
    for (auto& steps : steps_) {
      for (std::size_t i = 1; i < steps.size(); ++i)
        steps[i] = std::max(steps[i], steps[i - 1] + 1);
    }
    for (const Sent& s : log) {
      int& sender = steps_[at(s.from)][s.from_call];
      int& receiver = steps_[at(s.to)][s.to_call];
      sender = receiver = std::max(sender, receiver);
    }
    return steps_ != before;
  }

  std::vector<std::vector<int>> steps_;
};

/// In the order of steps, then of senders.
void add_steps(Schedule& schedule, std::vector<Sent> log) {
  const CallSteps steps(log, schedule.ranks);
  std::sort(log.begin(), log.end(), [&](const Sent& a, const Sent& b) {
    return std::pair(steps.of(a), a.from) < std::pair(steps.of(b), b.from);
  });
  Holdings holdings = first_holdings(schedule);
  int last = -1;
  for (const Sent& s : log) {
    if (steps.of(s) != last) {
      if (last >= 0) holdings = holdings_after(schedule.steps.back(), holdings);
      last = steps.of(s);
      schedule.steps.push_back({s.phase, last, {}});
    }
    const auto sent = static_cast<unsigned>(s.value);
    const bool adds = (sent & holdings[at(s.to)][0]) == 0;
    schedule.steps.back().messages.push_back({s.from, s.to, 0, adds});
  }
}

}  // namespace

Schedule observed_schedule(Algorithm algorithm, int ranks, std::size_t length) {
  if (algorithm != Algorithm::doubling && algorithm != Algorithm::central) {
    throw InputError("--algorithm " + std::string(to_string(algorithm)) +
                     ": give one of ring, doubling, central");
  }
  Schedule schedule{ranks, length, {{0, length}}, {}};
  if (length > 0) add_steps(schedule, run_threads(algorithm, ranks));
  return schedule;
}

#else

Schedule observed_schedule(Algorithm algorithm, int, std::size_t) {
  throw InputError("--algorithm " + std::string(to_string(algorithm)) +
                   ": this build has no CPU backend, on which it could be observed; give ring");
}

#endif

}  // namespace rueda::bench
