#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "rueda/backend/replica.hpp"
#include "rueda/core/split.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "timings.hpp"

namespace rueda {

/// What the gradients of a run are summed by; all of it outlives the synchronisation.
struct SyncParts {
  Replica& replica;
  AllReduce& all_reduce;
  std::vector<std::size_t> ends;  ///< plan_buckets; a tail bucket is summed exactly
};

/// Sums the gradient arena over ranks, bucket by bucket, once in each step:
///
///     begin(step, ...);
///     ... the backward passes write the arena ...
///     complete();
///     for (each bucket, in order) { wait(bucket); ... its gradients are read ... }
///     end();
///
/// Between `begin` and `end` nothing else may use MPI. Every bucket's sum has the same bits
/// whichever thread does it.
class GradientSync {
 public:
  explicit GradientSync(const SyncParts& parts);
  virtual ~GradientSync() = default;

  /// A training step begins (global, from 1). `announced`: its buckets are complete as soon as the
  /// backend announces them; otherwise with `complete`.
  virtual void begin(std::size_t train_step, bool announced) = 0;
  /// The whole arena is written.
  virtual void complete() = 0;
  /// Returns once `bucket` is summed. In order. Throws what its all-reduce threw.
  virtual void wait(std::size_t bucket) = 0;
  virtual void end() = 0;
  /// Whether somebody may still be inside an all-reduce: between `begin` and `end`.
  virtual bool busy() const = 0;

  std::size_t buckets() const noexcept { return parts_.ends.size(); }
  /// Floats of the gradient arena.
  Range bucket(std::size_t i) const {
    return {i == 0 ? 0 : parts_.ends.at(i - 1), parts_.ends.at(i)};
  }
  /// Of all buckets since the last call; epoch and step are the caller's to fill in.
  std::vector<BucketRecord> take_records() { return std::exchange(records_, {}); }
  ReduceJournal& journal() { return parts_.all_reduce.journal(); }

 protected:
  /// Sums `bucket`, whose gradients were complete at `ready`.
  void sum(std::size_t train_step, std::size_t bucket, SteadyTime ready);
  Backend& backend() const { return parts_.replica.backend(); }

 private:
  bool is_tail(std::size_t bucket) const;

  SyncParts parts_;
  std::vector<BucketRecord> records_;
};

/// Sums on the thread that trains, when all is computed.
std::unique_ptr<GradientSync> make_plain_sync(const SyncParts& parts);

/// How the right to call MPI goes from thread to thread.
struct TurnHooks {
  std::function<void()> take = [] {};
  std::function<void()> give = [] {};
};

/// Sums on a thread of its own, each bucket as soon as it is complete, while the backward pass
/// computes the next. Between `begin` and `end` that thread has the turn; it sleeps while it waits
/// for buckets, and never enters OpenMP. May be destroyed only when it is not busy().
std::unique_ptr<GradientSync> make_overlapped_sync(const SyncParts& parts, TurnHooks turn);

}  // namespace rueda
