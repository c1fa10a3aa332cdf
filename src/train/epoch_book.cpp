#include "epoch_book.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rueda {
namespace {

/// Every rank's records, on rank 0.
template <typename Record>
std::vector<std::vector<Record>> gather_records(RankGroup& group, const std::vector<Record>& mine) {
  std::vector<std::vector<Record>> all;
  for (const auto& bytes : group.gather(std::as_bytes(std::span(mine)), 0)) {
    auto& records = all.emplace_back(bytes.size() / sizeof(Record));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(records)).begin());  // may be none
  }
  return all;
}

}  // namespace

void EpochBook::open() {
  steps_.clear();
  buckets_.clear();
  clock_.first = note_clock(clock_.first_time);
  group_.barrier();
  energy_ = joules_so_far();
}

void EpochBook::add(const StepRecord& step, const std::vector<BucketRecord>& buckets) {
  steps_.push_back(step);
  buckets_.insert(buckets_.end(), buckets.begin(), buckets.end());
}

void EpochBook::add_trace(const std::vector<TraceSpan>& spans) {
  trace_.insert(trace_.end(), spans.begin(), spans.end());
}

void EpochBook::close() {
  clock_.last = note_clock(clock_.last_time);
  energy_ = joules_so_far() - energy_;
}

void EpochBook::gather(RunRecord& run, EpochRecord& epoch) {
  gather_steps(run, epoch);
  gather_device_use(run, epoch);
}

ClockOffset EpochBook::note_clock(double& time) {
  const ClockOffset offset = group_.clock_offset();
  time = steady_seconds();
  return offset;
}

double EpochBook::joules_so_far() const {
  return watch_ != nullptr ? watch_->energy_joules() : DeviceSample::kUnknown;
}

void EpochBook::gather_steps(RunRecord& run, EpochRecord& epoch) {
  epoch.step_records = gather_records(group_, steps_);
  epoch.bucket_records = gather_records(group_, buckets_);
  for (const auto& clock : gather_records(group_, std::vector{clock_})) {
    epoch.clocks.push_back(clock.at(0));
  }
  book_waits(epoch.step_records, epoch.bucket_records, epoch.clocks);
  if (run.config.trace.empty()) return;
  auto spans = gather_records(group_, std::exchange(trace_, {}));
  run.trace.resize(spans.size());
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    align(spans[rank], epoch.clocks.at(rank));
    run.trace[rank].insert(run.trace[rank].end(), spans[rank].begin(), spans[rank].end());
  }
}

void EpochBook::gather_device_use(RunRecord& run, EpochRecord& epoch) {
  for (const auto& energy : gather_records(group_, std::vector{energy_})) {
    epoch.energy_joules.push_back(energy.at(0));
  }
  const auto mine = watch_ != nullptr ? watch_->take() : std::vector<DeviceSample>();
  const auto all = gather_records(group_, mine);
  run.gpu_samples.resize(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    run.gpu_samples[rank].insert(run.gpu_samples[rank].end(), all[rank].begin(), all[rank].end());
  }
}

}  // namespace rueda
