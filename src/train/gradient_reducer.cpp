#include "train/gradient_reducer.hpp"

#include <algorithm>

#include "base/start_thread.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {

GradientAccumulator::GradientAccumulator(Backend& backend, std::size_t arena_floats,
                                         std::size_t micro_batches)
    : device_(backend.reduce_device()) {
  if (micro_batches == 1) return;
  for (std::size_t i = 0; i < TreeOrder::slots_needed(micro_batches); ++i)
    slots_.push_back(backend.allocate(arena_floats * sizeof(float)));
}

void GradientAccumulator::push(std::span<const float> arena) {
  if (slots_.empty()) return;
  device_.copy(slot(order_.next_slot()), arena);
  order_.push([this](std::size_t into, std::size_t from) { merge(into, from); });
  device_.others_wait();  // the next one writes it again
}

void GradientAccumulator::finish(std::span<float> arena) {
  if (slots_.empty()) return;
  order_.finish([this](std::size_t into, std::size_t from) { merge(into, from); });
  device_.copy(arena, slot(0));
  device_.others_wait();
}

void GradientAccumulator::merge(std::size_t into, std::size_t from) {
  device_.add(slot(into), slot(from));
}

GradientReducer::GradientReducer(ReducerParts parts)
    : parts_(std::move(parts)), counts_(parts_.ends.size()) {
  for (std::size_t i = 0; i < buckets(); ++i) {
    const Range range = bucket(i);
    sums_.push_back({.all_reduce = parts_.all_reduce.for_length(range.size()),
                     .slice = cut(parts_.replica.gradients(), range),
                     .exactly = i > 0 && range.begin >= parts_.replica.parameters().size()});
  }
  if (!parts_.overlaps) return;
  parts_.replica.announce_buckets(parts_.ends);
  thread_ = make_thread("sums during backward (--overlap off needs none)",
                        std::bind_front(&GradientReducer::communicate, this));
}

GradientReducer::~GradientReducer() {
  if (busy())
    end_process("the training thread has ended inside a step; leaving", ExitCode::run_failed);
}

/// The largest scratch memory first: a library of MPI that remembers memory by its address might
/// take what comes to the place of a smaller one for that (pmodels/mpich#7304).
void GradientReducer::warm_up() {
  std::size_t most = 0;
  for (const auto& [all_reduce, slice, exactly] : sums_)
    most = std::max(most, all_reduce.scratch_floats(slice.size()));
  static_cast<void>(parts_.replica.backend().reduce_device().scratch(most));
  begin(0, false);
  complete();
  for (std::size_t i = 0; i < buckets();) i = wait(i);
  end();
  take_records();
}

template <typename Work>
void GradientReducer::change(const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    work();
  }
  changed_.notify_all();
}

void GradientReducer::begin(std::size_t train_step, bool announced) {
  if (parts_.overlaps) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = backend().announced(i) + 1;
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

void GradientReducer::complete() {
  if (!final_) {
    ReduceDevice& device = parts_.replica.backend().reduce_device();
    device.wait(device.record());
  }
  change([this] {
    complete_ = true;
    completed_at_ = SteadyClock::now();
  });
}

std::size_t GradientReducer::wait(std::size_t bucket) {
  if (!parts_.overlaps) {
    sum(bucket, completed_at_);
    return bucket + 1;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return summed_ > bucket || failure_; });
  if (summed_ <= bucket) std::rethrow_exception(failure_);
  return summed_;
}

void GradientReducer::end() {
  if (!parts_.overlaps) return;
  parts_.turn.take();
  open_ = false;
}

bool GradientReducer::busy() const {
  const std::lock_guard lock(mutex_);
  return open_ && !failure_;
}

Range GradientReducer::bucket(std::size_t i) const {
  const std::size_t end = parts_.ends.at(i);
  if (i == 0) return {0, end};
  return {parts_.ends.at(i - 1), end};
}

/// The caller has waited for everything that the bucket needs, hence no event.
Event GradientReducer::BoundSum::start(ReduceJournal& journal) const {
  if (exactly) return all_reduce.sum_exactly(slice, {}, journal);
  return all_reduce.sum(slice, {}, journal);
}

void GradientReducer::sum(std::size_t bucket, SteadyTime ready) {
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
                      .add = times.add,
                      .long_message = times.long_message});
}

void GradientReducer::communicate(const std::stop_token& stop) {
  while (wait_for_step(stop)) {
    parts_.turn.take();
    try {
      sum_all();
    } catch (...) {
      parts_.turn.give();
      return change([this] { failure_ = std::current_exception(); });
    }
  }
}

bool GradientReducer::wait_for_step(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [this] { return starts_; });
  return std::exchange(starts_, false);
}

void GradientReducer::sum_all() {
  for (std::size_t i = 0; i < buckets(); ++i) {
    sum(i, wait_until_ready(i));
    if (i + 1 == buckets()) parts_.turn.give();  // before the other thread can see the last sum
    change([&] { summed_ = i + 1; });
  }
}

SteadyTime GradientReducer::wait_until_ready(std::size_t bucket) {
  if (announced_) return backend().wait_announced(bucket, counts_[bucket]);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return complete_; });
  return completed_at_;
}

}  // namespace rueda
