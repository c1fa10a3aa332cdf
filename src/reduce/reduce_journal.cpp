#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

constexpr auto kRelaxed = std::memory_order_relaxed;

void ReduceJournal::at(std::size_t train_step, std::size_t bucket) {
  train_step_.store(train_step, kRelaxed);
  bucket_.store(bucket, kRelaxed);
}

SteadyTime ReduceJournal::enter(const ReduceAct& act) {
  const SteadyTime now = SteadyClock::now();
  publish(act, now);
  return now;
}

void ReduceJournal::leave(const ReduceAct& act, SteadyTime begin) {
  const SteadyTime now = SteadyClock::now();
  double& booked = act.kind == ReduceAct::Kind::add ? times_.add : times_.transfer;
  booked += seconds_between(begin, now);
  if (keeps_) spans_.push_back({act, bucket_.load(kRelaxed), begin, now});
  publish({}, now);
}

void ReduceJournal::publish(const ReduceAct& act, SteadyTime since) {
  version_.fetch_add(1, std::memory_order_acq_rel);
  kind_.store(act.kind, kRelaxed);
  phase_.store(act.phase, kRelaxed);
  step_.store(act.step, kRelaxed);
  to_.store(act.to, kRelaxed);
  from_.store(act.from, kRelaxed);
  since_.store(since.time_since_epoch().count(), kRelaxed);
  version_.fetch_add(1, std::memory_order_release);
}

ReduceNow ReduceJournal::now() const {
  for (;;) {
    const auto before = version_.load(std::memory_order_acquire);
    const ReduceNow seen{.act = {kind_.load(kRelaxed), phase_.load(kRelaxed), step_.load(kRelaxed),
                                 to_.load(kRelaxed), from_.load(kRelaxed)},
                         .train_step = train_step_.load(kRelaxed),
                         .bucket = bucket_.load(kRelaxed),
                         .since = SteadyTime(SteadyTime::duration(since_.load(kRelaxed)))};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && version_.load(kRelaxed) == before) return seen;
  }
}

}  // namespace rueda
