#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "base/split.hpp"
#include "base/start_thread.hpp"
#include "reduce/tree_order.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// Adds the gradient arenas of one step's micro-batches in the tree order that
/// the fixed-order all-reduce uses over ranks. With one micro-batch it does
/// nothing and owns nothing.
class GradientAccumulator {
 public:
  GradientAccumulator(Backend& backend, std::size_t arena_floats, std::size_t micro_batches)
      : device_(backend.reduce_device()) {
    if (micro_batches == 1) return;
    for (std::size_t i = 0; i < TreeOrder::slots_needed(micro_batches); ++i)
      slots_.push_back(backend.allocate(arena_floats * sizeof(float)));
  }

  /// Takes the arena of the next micro-batch.
  void push(std::span<const float> arena) {
    if (slots_.empty()) return;
    device_.join();  // the backward pass wrote the arena
    device_.copy(slot(order_.next_slot()), arena);
    order_.push([this](std::size_t into, std::size_t from) { merge(into, from); });
    device_.join();  // the next one writes it again
  }

  /// All have been pushed: writes the sum into `arena`.
  void finish(std::span<float> arena) {
    if (slots_.empty()) return;
    order_.finish([this](std::size_t into, std::size_t from) { merge(into, from); });
    device_.copy(arena, slot(0));
    device_.join();
  }

 private:
  void merge(std::size_t into, std::size_t from) { device_.add(slot(into), slot(from)); }
  std::span<float> slot(std::size_t i) { return slots_[i].floats(); }

  ReduceDevice& device_;
  TreeOrder order_;
  std::vector<Memory> slots_;  ///< none with one micro-batch
};

/// How the right to call MPI goes from thread to thread.
struct TurnHooks {
  std::function<void()> take = [] {};
  std::function<void()> give = [] {};
};

/// What a reducer works with; replica and all-reduce outlive it.
struct ReducerParts {
  Replica& replica;  ///< has announced its buckets at `ends`
  AllReduce& all_reduce;
  std::vector<std::size_t> ends;  ///< plan_buckets; a tail bucket is summed exactly
  bool overlaps = false;          ///< sums on a thread of its own
  TurnHooks turn = {};            ///< to that thread and back
};

/// Sums the gradient arena over ranks, bucket by bucket, once in each step:
///
///     begin(step, ...);
///     ... the backward passes write the arena ...
///     complete();
///     for (i = 0; i < buckets(); i = n) { n = wait(i); ... gradients of [i, n) are read ... }
///     end();
///
/// Without a thread of its own it sums in `wait`. With one it sums each bucket
/// as soon as that is complete, while the backward pass computes the next one.
/// Then the thread has the turn to call MPI between `begin` and `end`; it
/// sleeps while it waits for buckets and never enters OpenMP. Either way
/// nothing else may use MPI between `begin` and `end`, and a sum has the same
/// bits.
class GradientReducer {
 public:
  explicit GradientReducer(ReducerParts parts)
      : parts_(std::move(parts)), counts_(parts_.ends.size()) {
    for (std::size_t i = 0; i < buckets(); ++i) {
      const Range range = bucket(i);
      sums_.push_back({.all_reduce = parts_.all_reduce.for_length(range.size()),
                       .slice = cut(parts_.replica.gradients(), range),
                       .exactly = i > 0 && range.begin >= parts_.replica.parameters().size()});
    }
    if (!parts_.overlaps) return;
    thread_ = make_thread("sums during backward (--overlap off needs none)",
                          std::bind_front(&GradientReducer::communicate, this));
  }
  /// Ends the process if it is busy(): the thread may be inside MPI, from which
  /// it never returns when this rank has failed.
  ~GradientReducer() {
    if (busy())
      end_process("the training thread has ended inside a step; leaving", ExitCode::run_failed);
  }

  /// Collective. Sums the zeros of a new arena, which opens connections and takes scratch memory.
  void warm_up() {
    begin(0, false);
    complete();
    for (std::size_t i = 0; i < buckets();) i = wait(i);
    end();
    take_records();
  }

  /// A training step begins (global, from 1). `announced`: its buckets are
  /// complete as soon as the backend announces them, and all are when
  /// `complete` is called; otherwise the device is waited for there.
  void begin(std::size_t train_step, bool announced) {
    if (parts_.overlaps) {
      for (std::size_t i = 0; i < counts_.size(); ++i)
        counts_[i] = announcements().announced(i) + 1;
      parts_.turn.give();
    }
    change([&] {
      train_step_ = train_step;
      final_ = announced;
      announced_ = announced && parts_.overlaps;
      complete_ = false;
      summed_ = 0;
      open_ = parts_.overlaps;
      starts_ = true;
    });
  }
  /// The whole arena is written.
  void complete() {
    if (!final_) {
      ReduceDevice& device = parts_.replica.backend().reduce_device();
      device.wait(device.record());
    }
    change([this] {
      complete_ = true;
      completed_at_ = SteadyClock::now();
    });
  }
  /// Returns once `bucket` is summed: how many are by then. In order. Throws what its all-reduce
  /// threw.
  std::size_t wait(std::size_t bucket) {
    if (!parts_.overlaps) {
      sum(bucket, completed_at_);
      return bucket + 1;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return summed_ > bucket || failure_; });
    if (summed_ <= bucket) std::rethrow_exception(failure_);
    return summed_;
  }
  void end() {
    if (!parts_.overlaps) return;
    parts_.turn.take();
    open_ = false;
  }
  /// Whether the thread may still be inside an all-reduce: between `begin` and `end`.
  bool busy() const {
    const std::lock_guard lock(mutex_);
    return open_ && !failure_;
  }

  std::size_t buckets() const noexcept { return parts_.ends.size(); }
  /// Floats of the gradient arena.
  Range bucket(std::size_t i) const {
    const std::size_t end = parts_.ends.at(i);
    if (i == 0) return {0, end};
    return {parts_.ends.at(i - 1), end};
  }
  /// Of all buckets since the last call; epoch and step are the caller's to fill in.
  std::vector<BucketRecord> take_records() { return std::exchange(records_, {}); }
  ReduceJournal& journal() { return journal_; }

 private:
  /// A bucket and its all-reduce, which is chosen once.
  struct BoundSum {
    AllReduce& all_reduce;
    std::span<float> slice;
    bool exactly = false;

    /// The caller has waited for everything that the bucket needs, hence no event.
    Event start(ReduceJournal& journal) const {
      if (exactly) return all_reduce.sum_exactly(slice, {}, journal);
      return all_reduce.sum(slice, {}, journal);
    }
  };
  /// Sums `bucket`, whose gradients were complete at `ready`.
  void sum(std::size_t bucket, SteadyTime ready) {
    const BoundSum& bound = sums_[bucket];
    journal_.at(train_step_, bucket);
    const SteadyTime begin = SteadyClock::now();
    parts_.replica.backend().reduce_device().wait(bound.start(journal_));
    const SteadyTime end = SteadyClock::now();
    const ReduceTimes times = journal_.take_times();
    records_.push_back({.bucket = std::uint32_t(bucket),
                        .ready = steady_seconds(ready),
                        .begin = steady_seconds(begin),
                        .end = steady_seconds(end),
                        .transfer = times.transfer,
                        .add = times.add});
  }
  const Announcements& announcements() const { return parts_.replica.backend(); }

  /// Does `work` under the lock, and wakes the threads that wait for a change.
  template <typename Work>
  void change(const Work& work) {
    {
      const std::lock_guard lock(mutex_);
      work();
    }
    changed_.notify_all();
  }

  /// The thread's work: waits for the next step, until there is none.
  void communicate(const std::stop_token& stop) {
    const auto starts = [&] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return starts_; });
      return std::exchange(starts_, false);
    };
    while (starts()) {
      parts_.turn.take();
      try {
        sum_all();
      } catch (...) {
        parts_.turn.give();
        return change([this] { failure_ = std::current_exception(); });
      }
    }
  }
  void sum_all() {
    for (std::size_t i = 0; i < buckets(); ++i) {
      sum(i, wait_until_ready(i));
      if (i + 1 == buckets()) parts_.turn.give();  // before the other thread can see the last sum
      change([&] { summed_ = i + 1; });
    }
  }
  SteadyTime wait_until_ready(std::size_t bucket) {
    if (announced_) return announcements().wait_announced(bucket, counts_[bucket]);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return complete_; });
    return completed_at_;
  }

  const ReducerParts parts_;
  std::vector<BoundSum> sums_;  ///< by bucket
  ReduceJournal journal_;
  std::vector<BucketRecord> records_;

  // The training thread begins a step and says when all is written; the other
  // thread counts the buckets that it has summed. Without it there is no
  // competition for the lock.
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::uint64_t> counts_;  ///< of announcements at which each bucket is complete
  std::size_t train_step_ = 0;
  bool final_ = false;      ///< this step has one micro-batch, whose gradients are final
  bool announced_ = false;  ///< its buckets are
  bool complete_ = false;
  SteadyTime completed_at_;
  std::size_t summed_ = 0;  ///< buckets of this step
  bool open_ = false;
  bool starts_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace rueda
