#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "host_reduce_device.hpp"
#include "mpi/exchange/outer_exchange.hpp"
#include "reduce/cost_model.hpp"

// Ranks whose messages, additions and waits take stated times. No clock is read: each rank counts
// its own seconds, and a message brings those of its sender. So what comes out depends on the
// all-reduce and the stated times alone.

namespace rueda::test {

/// What takes how long; seconds.
struct StatedTimes {
  cost::Link message;
  double add_byte = 0;   ///< of a sum, on the device
  double launch = 0;     ///< from the call to the begin of an addition
  double look = 0;       ///< a look at an event
  double patience = 0;   ///< so long a thread looks before it sleeps
  double wake = 0;       ///< from an event to the end of the sleep of who waits for it
  double look_late = 0;  ///< by which the looks for an announcement find it late once they sleep
};

/// The seconds of one rank.
class StatedClock {
 public:
  explicit StatedClock(const StatedTimes& times) : times_(times) {}

  const StatedTimes& times() const { return times_; }
  double now() const { return now_; }
  void spend(double seconds) { now_ += seconds; }
  /// For what happens at `moment`, and is then noticed `late` by who has fallen asleep.
  void wait_for(double moment, double late) {
    const bool sleeps = moment > now_ + times_.patience;
    now_ = std::max(now_, moment) + times_.look + (sleeps ? late : 0);
  }
  /// Until `other`, if that is later.
  void meet(double other) { now_ = std::max(now_, other); }

 private:
  StatedTimes times_;
  double now_ = 0;
};

/// A device with a queue of its own, whose work takes stated times. Its results are there at once.
class StatedReduceDevice final : public QueueingReduceDevice {
 public:
  /// Keeps `clock`, which outlives it.
  explicit StatedReduceDevice(StatedClock& clock) : clock_(clock) {}

  void add(std::span<float> into, std::span<const float> from) override {
    const StatedTimes& times = clock_.times();
    busy_until_ = std::max(busy_until_, clock_.now() + times.launch) +
                  double(into.size_bytes()) * times.add_byte;
    QueueingReduceDevice::add(into, from);
  }
  Event record() override {
    passes_[++last_] = busy_until_;
    return {last_};
  }
  void wait(Event event) override {
    const auto found = passes_.extract(event.id);
    if (!found.empty()) clock_.wait_for(found.mapped(), clock_.times().wake);
  }

 private:
  void queue(Task task) override { task(); }

  StatedClock& clock_;
  double busy_until_ = 0;
  std::map<std::uint64_t, double> passes_;  ///< event to the moment
  std::uint64_t last_ = 0;
};

/// Messages that take stated times: one begins when its receiver has come to it and its sender.
class StatedExchange final : public OuterExchange {
 public:
  /// Of the messages of `inner`. Keeps `clock`, which outlives it.
  StatedExchange(std::unique_ptr<Exchange> inner, StatedClock& clock)
      : OuterExchange(std::move(inner)), clock_(clock) {}

  /// `sendrecv_host` takes no time.
  void sendrecv(const Outgoing& send, const Incoming& receive,
                const ReduceJournal& journal) override {
    inner_->sendrecv(send, receive, journal);
    auto mine = std::bit_cast<Words>(clock_.now());
    auto theirs = mine;
    inner_->sendrecv_host(of_message(mine, send.floats.empty()), send.to,
                          of_message(theirs, receive.floats.empty()), receive.from);
    clock_.meet(std::bit_cast<double>(theirs));
    const std::size_t bytes = std::max(send.floats.size_bytes(), receive.floats.size_bytes());
    if (bytes > 0) clock_.spend(clock_.times().message.message_seconds(double(bytes)));
  }

 private:
  using Words = std::array<float, 2>;

  static std::span<float> of_message(Words& words, bool none) {
    return none ? std::span<float>{} : std::span<float>(words);
  }

  StatedClock& clock_;
};

}  // namespace rueda::test
