#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "base/split.hpp"
#include "reduce/reduce_journal.hpp"
#include "reduce/tree_order.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// Adds the gradient arenas of one step's micro-batches in the tree order that
/// the fixed-order all-reduce uses over ranks. With one micro-batch it does
/// nothing and owns nothing.
class GradientAccumulator {
 public:
  GradientAccumulator(Backend& backend, std::size_t arena_floats, std::size_t micro_batches);

  /// Takes the arena of the next micro-batch, which is computed (Replica::compute).
  void push(std::span<const float> arena);
  /// All have been pushed: writes the sum into `arena`.
  void finish(std::span<float> arena);

 private:
  void merge(std::size_t into, std::size_t from);
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
  Replica& replica;  ///< announces its buckets from now on if the reducer `overlaps`
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
  explicit GradientReducer(ReducerParts parts);
  /// Ends the process if it is busy(): the thread may be inside MPI, from which
  /// it never returns when this rank has failed.
  ~GradientReducer();

  /// Collective. Sums the zeros of a new arena, which opens connections and takes scratch memory.
  void warm_up();

  /// A training step begins (global, from 1). `announced`: its buckets are
  /// complete as soon as the backend announces them, and all are when
  /// `complete` is called; otherwise the device is waited for there.
  void begin(std::size_t train_step, bool announced);
  /// The whole arena is written.
  void complete();
  /// Returns once `bucket` is summed: how many are by then. In order. Throws what its all-reduce
  /// threw.
  std::size_t wait(std::size_t bucket);
  void end();
  /// Whether the thread may still be inside an all-reduce: between `begin` and `end`.
  bool busy() const;

  std::size_t buckets() const noexcept { return parts_.ends.size(); }
  /// Floats of the gradient arena.
  Range bucket(std::size_t i) const;
  /// Of all buckets since the last call; epoch and step are the caller's to fill in.
  std::vector<BucketRecord> take_records() { return std::exchange(records_, {}); }
  ReduceJournal& journal() { return journal_; }

 private:
  /// A bucket and its all-reduce, which is chosen once.
  struct BoundSum {
    AllReduce& all_reduce;
    std::span<float> slice;
    bool exactly = false;

    Event start(ReduceJournal& journal) const;
  };
  /// Sums `bucket`, whose gradients were complete at `ready`.
  void sum(std::size_t bucket, SteadyTime ready);
  const Backend& backend() const { return parts_.replica.backend(); }

  /// Does `work` under the lock, and wakes the threads that wait for a change.
  template <typename Work>
  void change(const Work& work);

  /// The thread's work: waits for the next step, until there is none.
  void communicate(const std::stop_token& stop);
  /// Whether the next step has begun; false: there will be none.
  bool wait_for_step(const std::stop_token& stop);
  void sum_all();
  SteadyTime wait_until_ready(std::size_t bucket);

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
