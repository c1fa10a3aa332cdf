#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rueda/reduce/exchange.hpp"

namespace rueda {

/// Where the time of an all-reduce went, in seconds, since the last `take_times`.
struct ReduceTimes {
  double transfer = 0;        ///< inside MPI calls, waiting for the peer and staging included
  double add = 0;             ///< adding received contributions, or waiting for the device to do so
  TimedMessage long_message;  ///< TimedMessage::keep_longer, over all of them
};

/// One stretch of an all-reduce: a message, or an addition.
struct ReduceAct {
  enum class Kind : std::uint8_t { none, transfer, add };
  Kind kind = Kind::none;
  const char* phase = "";  ///< a literal, for example "reduce-scatter"
  int step = 0;            ///< of the phase, from 0
  int to = -1;             ///< world rank that is sent to; -1: none, or all
  int from = -1;           ///< world rank that is received from; -1: none, or all
};

/// An act that is over.
struct ReduceSpan {
  ReduceAct act;
  std::size_t bucket = 0;
  SteadyTime begin;
  SteadyTime end;
};

/// The current act of a rank's all-reduce, which began at `since`.
struct ReduceNow {
  ReduceAct act;
  std::size_t train_step = 0;  ///< global, from 1; 0: not in a training step
  std::size_t bucket = 0;
  SteadyTime since;
};

/// The journal of an all-reduce's work, written by the thread that sums. It
/// always adds up times, and keeps single acts on request (for a trace). Any
/// other thread (a watchdog) can read the current act, without a lock that
/// could delay the sum.
class ReduceJournal {
 public:
  /// An act that goes on for as long as this lives. One that an error ends stays
  /// the current one: the sum got no further.
  class Entry {
   public:
    Entry(ReduceJournal& journal, const ReduceAct& act) : journal_(journal), act_(act) {
      journal_.publish(act_, begin_);
    }
    ~Entry() {
      if (std::uncaught_exceptions() == uncaught_) journal_.book(act_, begin_);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    ReduceJournal& journal_;
    ReduceAct act_;
    int uncaught_ = std::uncaught_exceptions();  ///< in flight when it began
    SteadyTime begin_ = SteadyClock::now();
  };
  [[nodiscard]] Entry transfer(const char* phase, int step, int to, int from) {
    return {*this, {ReduceAct::Kind::transfer, phase, step, to, from}};
  }
  [[nodiscard]] Entry add(const char* phase, int step) {
    return {*this, {ReduceAct::Kind::add, phase, step}};
  }

  /// What follows belongs to this bucket of this training step.
  void at(std::size_t train_step, std::size_t bucket) {
    train_step_.store(train_step, kRelaxed);
    bucket_.store(bucket, kRelaxed);
  }

  ReduceTimes take_times() { return std::exchange(times_, {}); }
  /// From now on single acts are kept, until they are taken.
  void keep_spans(bool keep) { keeps_ = keep; }
  std::vector<ReduceSpan> take_spans() { return std::exchange(spans_, {}); }

  /// May be called by any thread.
  ReduceNow now() const {
    for (;;) {
      const auto before = version_.load(std::memory_order_acquire);
      const ReduceNow seen{{kind_.load(kRelaxed), phase_.load(kRelaxed), step_.load(kRelaxed),
                            to_.load(kRelaxed), from_.load(kRelaxed)},
                           train_step_.load(kRelaxed),
                           bucket_.load(kRelaxed),
                           SteadyTime(SteadyTime::duration(since_.load(kRelaxed)))};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && version_.load(kRelaxed) == before) return seen;
    }
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  /// `act`, which began at `begin`, is over.
  void book(const ReduceAct& act, SteadyTime begin) {
    const SteadyTime end = SteadyClock::now();
    const double seconds = seconds_between(begin, end);
    if (act.kind == ReduceAct::Kind::add)
      times_.add += seconds;
    else
      book_message(act, steady_seconds(begin), seconds);
    if (keeps_) spans_.push_back({act, bucket_.load(kRelaxed), begin, end});
    publish({}, end);
  }

  void book_message(const ReduceAct& act, double begin, double seconds) {
    times_.transfer += seconds;
    times_.long_message.keep_longer(
        {begin, seconds, act.to, act.from, next(sent_, act.to), next(received_, act.from)});
  }
  static std::uint64_t next(std::vector<std::uint64_t>& counts, int rank) {
    if (rank < 0) return 0;
    if (std::size_t(rank) >= counts.size()) counts.resize(std::size_t(rank) + 1);
    return ++counts[std::size_t(rank)];
  }

  void publish(const ReduceAct& act, SteadyTime since) {
    const auto version = version_.load(kRelaxed);  // this thread alone writes
    version_.store(version + 1, kRelaxed);
    std::atomic_thread_fence(std::memory_order_release);
    kind_.store(act.kind, kRelaxed);
    phase_.store(act.phase, kRelaxed);
    step_.store(act.step, kRelaxed);
    to_.store(act.to, kRelaxed);
    from_.store(act.from, kRelaxed);
    since_.store(since.time_since_epoch().count(), kRelaxed);
    version_.store(version + 2, std::memory_order_release);
  }

  ReduceTimes times_;
  std::vector<std::uint64_t> sent_, received_;  ///< messages, by world rank
  bool keeps_ = false;
  std::vector<ReduceSpan> spans_;

  // What others may read. The version is odd while it is being written.
  std::atomic<std::uint64_t> version_{0};
  std::atomic<ReduceAct::Kind> kind_{ReduceAct::Kind::none};
  std::atomic<const char*> phase_{""};
  std::atomic<int> step_{0};
  std::atomic<int> to_{-1};
  std::atomic<int> from_{-1};
  std::atomic<std::size_t> train_step_{0};
  std::atomic<std::size_t> bucket_{0};
  std::atomic<SteadyTime::rep> since_{0};
};

}  // namespace rueda
