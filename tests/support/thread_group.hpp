#pragma once

#include <algorithm>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "rueda/reduce/rank_group.hpp"

namespace rueda::test {

/// What a rank meets that waits for others in vain.
struct GroupEnded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where ranks that are threads of one process meet, and their messages. A rank
/// that throws ends all. So does a rank that waits when none can go on any
/// more, because they wait for each other or have left.
class ThreadMeeting {
 public:
  using Message = std::vector<float>;
  /// Messages of one space, from one rank to another.
  struct Way {
    int space = 0;
    int from = 0;
    int to = 0;
    auto operator<=>(const Way&) const = default;
  };

  explicit ThreadMeeting(int size) : boxes(std::size_t(size)), seats_(std::size_t(size)) {}

  /// Returns when all ranks have come.
  void meet(int rank) {
    std::unique_lock lock(mutex_);
    const std::size_t before = meetings_;
    if (++arrived_ == seats_.size()) {
      arrived_ = 0;
      ++meetings_;
      wake_all();
    }
    wait(lock, rank, [this, before] { return meetings_ != before; });
  }
  /// Takes a copy and does not wait.
  void send(const Way& way, std::span<const float> message) {
    const std::lock_guard lock(mutex_);
    messages_[way].emplace_back(message.begin(), message.end());
    seats_[std::size_t(way.to)].changed.notify_one();
  }
  Message receive(const Way& way) {
    std::unique_lock lock(mutex_);
    auto& waiting = messages_[way];
    wait(lock, way.to, [&waiting] { return !waiting.empty(); });
    Message first = std::move(waiting.front());
    waiting.pop_front();
    return first;
  }

  /// Of a rank that has ended; `error`: by an exception.
  void leave(int rank, const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    seats_[std::size_t(rank)].left = true;
    if (error) end(error);
    end_if_stuck();
  }
  /// Throws what ended the group before its time.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  std::vector<RankGroup::Bytes> boxes;  ///< of each rank; written between two meetings

 private:
  struct Seat {
    std::condition_variable changed;
    std::function<bool()> ready;  ///< what the rank waits for, while it does
    bool left = false;
    bool cannot_go_on() const { return left || (ready && !ready()); }
  };

  void wait(std::unique_lock<std::mutex>& lock, int rank, const std::function<bool()>& ready) {
    if (ready() && !ended_) return;
    Seat& seat = seats_[std::size_t(rank)];
    seat.ready = ready;
    end_if_stuck();
    seat.changed.wait(lock, [&] { return ended_ || ready(); });
    seat.ready = nullptr;
    if (ended_) throw GroupEnded("another rank ended the group");
  }
  void wake_all() {
    for (Seat& seat : seats_) seat.changed.notify_one();
  }
  void end(const std::exception_ptr& error) {
    if (!ended_) error_ = error;
    ended_ = true;
    wake_all();
  }
  void end_if_stuck() {
    const bool all_left = std::ranges::all_of(seats_, &Seat::left);
    if (all_left || !std::ranges::all_of(seats_, &Seat::cannot_go_on)) return;
    end(std::make_exception_ptr(GroupEnded("ranks wait for each other, or for one that has left")));
  }

  std::mutex mutex_;
  std::size_t arrived_ = 0;
  std::size_t meetings_ = 0;
  std::map<Way, std::deque<Message>> messages_;
  std::deque<Seat> seats_;  ///< by rank
  bool ended_ = false;
  std::exception_ptr error_;
};

/// Ranks as threads of one process, to test what stands on RankGroup without a launcher.
class ThreadGroup : public RankGroup {
 public:
  /// A group of one.
  ThreadGroup() : ThreadGroup(std::make_shared<ThreadMeeting>(1), 0) {}

  /// Runs `body` once per rank, each in its own thread, and returns when all have ended. Assertions
  /// are not thread-safe: bodies store what they saw, and the caller asserts. Throws what a rank
  /// threw first, or GroupEnded.
  static void run(int size, const std::function<void(ThreadGroup&)>& body) {
    const auto meeting = std::make_shared<ThreadMeeting>(size);
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&meeting, &body, rank] { run_rank(meeting, body, rank); });
    }
    meeting->rethrow();
  }

  int rank() const override { return rank_; }
  int size() const override { return int(meeting_->boxes.size()); }
  void barrier() override { meeting_->meet(rank_); }
  void broadcast(std::span<std::byte> data, int root) override {
    const auto all = all_gather(data);
    const auto& from = all[std::size_t(root)];
    std::copy(from.begin(), from.end(), data.begin());
  }
  std::vector<Bytes> all_gather(std::span<const std::byte> mine) override {
    meeting_->boxes[std::size_t(rank_)].assign(mine.begin(), mine.end());
    barrier();
    auto all = meeting_->boxes;
    barrier();  // no rank refills a box that another still reads
    return all;
  }
  std::vector<Bytes> gather(std::span<const std::byte> mine, int root) override {
    auto all = all_gather(mine);
    return rank_ == root ? all : std::vector<Bytes>{};
  }

  /// A space for messages, the next one. All ranks take theirs in the same order.
  int take_space() { return ++spaces_; }
  ThreadMeeting& meeting() { return *meeting_; }

 private:
  ThreadGroup(std::shared_ptr<ThreadMeeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  static void run_rank(const std::shared_ptr<ThreadMeeting>& meeting,
                       const std::function<void(ThreadGroup&)>& body, int rank) {
    std::exception_ptr error;
    try {
      ThreadGroup group(meeting, rank);
      body(group);
    } catch (...) {
      error = std::current_exception();
    }
    meeting->leave(rank, error);
  }

  std::shared_ptr<ThreadMeeting> meeting_;
  int rank_;
  int spaces_ = 0;
};

}  // namespace rueda::test
