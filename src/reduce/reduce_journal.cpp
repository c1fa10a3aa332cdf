#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

void ReduceJournal::at(std::size_t train_step, std::size_t bucket) {
  train_step_.store(train_step, std::memory_order_relaxed);
  bucket_.store(bucket, std::memory_order_relaxed);
}

SteadyTime ReduceJournal::enter(const ReduceAct& act) {
  const SteadyTime now = std::chrono::steady_clock::now();
  publish(act, now);
  return now;
}

void ReduceJournal::leave(const ReduceAct& act, SteadyTime begin) {
  const SteadyTime now = std::chrono::steady_clock::now();
  double& booked = act.kind == ReduceAct::Kind::add ? times_.add : times_.transfer;
  booked += seconds_between(begin, now);
  if (keeps_) spans_.push_back({act, bucket_.load(std::memory_order_relaxed), begin, now});
  publish({}, now);
}

void ReduceJournal::publish(const ReduceAct& act, SteadyTime since) {
  version_.fetch_add(1, std::memory_order_acq_rel);
  kind_.store(act.kind, std::memory_order_relaxed);
  phase_.store(act.phase, std::memory_order_relaxed);
  step_.store(act.step, std::memory_order_relaxed);
  to_.store(act.to, std::memory_order_relaxed);
  from_.store(act.from, std::memory_order_relaxed);
  since_.store(since.time_since_epoch().count(), std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_release);
}

ReduceNow ReduceJournal::now() const {
  for (;;) {
    const auto before = version_.load(std::memory_order_acquire);
    const ReduceNow seen{
        .act = {kind_.load(std::memory_order_relaxed), phase_.load(std::memory_order_relaxed),
                step_.load(std::memory_order_relaxed), to_.load(std::memory_order_relaxed),
                from_.load(std::memory_order_relaxed)},
        .train_step = train_step_.load(std::memory_order_relaxed),
        .bucket = bucket_.load(std::memory_order_relaxed),
        .since = SteadyTime(SteadyTime::duration(since_.load(std::memory_order_relaxed)))};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return seen;
  }
}

}  // namespace rueda
