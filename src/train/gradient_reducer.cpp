#include "rueda/train/gradient_reducer.hpp"

#include "rueda/reduce/rank_group.hpp"

namespace rueda {

GradientReducer::GradientReducer(ReducerParts parts)
    : parts_(std::move(parts)), counts_(parts_.ends.size()) {
  for (std::size_t i = 0; i < buckets(); ++i) {
    const Range range = bucket(i);
    sums_.push_back({.all_reduce = parts_.all_reduce.for_length(range.size()),
                     .slice = cut(parts_.replica.gradients(), range),
                     .exactly = i > 0 && range.begin >= parts_.replica.parameters().size()});
  }
  if (parts_.overlaps) thread_ = std::jthread(std::bind_front(&GradientReducer::communicate, this));
}

GradientReducer::~GradientReducer() {
  if (busy())
    end_process("the training thread has ended inside a step; leaving", ExitCode::run_failed);
}

void GradientReducer::warm_up() {
  begin(0, false);
  complete();
  for (std::size_t i = 0; i < buckets(); ++i) wait(i);
  end();
  take_records();
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
    ReduceDevice& device = backend().reduce_device();
    device.wait(device.record());
  }
  change([this] {
    complete_ = true;
    completed_at_ = SteadyClock::now();
  });
}

void GradientReducer::wait(std::size_t bucket) {
  if (!parts_.overlaps) return sum(bucket, completed_at_);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return summed_ > bucket || failure_; });
  if (summed_ <= bucket) std::rethrow_exception(failure_);
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

void GradientReducer::sum(std::size_t bucket, SteadyTime ready) {
  const BoundSum& bound = sums_[bucket];
  journal().at(train_step_, bucket);
  const SteadyTime begin = SteadyClock::now();
  // The caller has waited for everything that the bucket needs, hence no event.
  const Event done = bound.exactly ? bound.all_reduce.sum_exactly(bound.slice, {})
                                   : bound.all_reduce.sum(bound.slice, {});
  backend().reduce_device().wait(done);
  const SteadyTime end = SteadyClock::now();
  const ReduceTimes times = journal().take_times();
  records_.push_back({.bucket = std::uint32_t(bucket),
                      .ready = steady_seconds(ready),
                      .begin = steady_seconds(begin),
                      .end = steady_seconds(end),
                      .transfer = times.transfer,
                      .add = times.add});
}

/// Waits for the next step, until there is none.
void GradientReducer::communicate(const std::stop_token& stop) {
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
