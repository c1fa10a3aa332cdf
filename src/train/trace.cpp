#include "rueda/train/trace.hpp"

#include <algorithm>
#include <string>

namespace rueda {
namespace {

TraceSpan of_phase(const PhaseSpan& phase) {
  TraceSpan span;
  span.begin = steady_seconds(phase.begin);
  span.end = steady_seconds(phase.end);
  span.set_name(kPhaseNames[static_cast<std::size_t>(phase.phase)]);
  return span;
}

TraceSpan of_bucket(const BucketRecord& bucket) {
  TraceSpan span;
  span.begin = std::min(bucket.ready, bucket.begin);
  span.end = bucket.end;
  span.lane = TraceLane::buckets;
  span.bucket = static_cast<std::int16_t>(bucket.bucket);
  span.set_name("bucket " + std::to_string(bucket.bucket));
  return span;
}

TraceSpan of_act(const ReduceSpan& done) {
  TraceSpan span;
  span.begin = steady_seconds(done.begin);
  span.end = steady_seconds(done.end);
  span.lane = TraceLane::all_reduce;
  span.bucket = static_cast<std::int16_t>(done.bucket);
  span.part = done.act.step;
  span.to = done.act.to;
  span.from = done.act.from;
  span.set_name(done.act.kind == ReduceAct::Kind::add ? "add" : done.act.phase);
  return span;
}

}  // namespace

void TraceSpan::set_name(std::string_view text) {
  name = {};
  std::copy_n(text.begin(), std::min(text.size(), name.size() - 1), name.begin());
}

std::vector<TraceSpan> trace_step(std::uint32_t step, const std::vector<PhaseSpan>& phases,
                                  const std::vector<BucketRecord>& buckets,
                                  const std::vector<ReduceSpan>& acts) {
  std::vector<TraceSpan> spans;
  for (const PhaseSpan& phase : phases) spans.push_back(of_phase(phase));
  for (const BucketRecord& bucket : buckets) spans.push_back(of_bucket(bucket));
  for (const ReduceSpan& act : acts) spans.push_back(of_act(act));
  for (TraceSpan& span : spans) span.step = step;
  return spans;
}

void align(std::vector<TraceSpan>& spans, const ClockFit& clock) {
  for (TraceSpan& span : spans) {
    span.begin = clock.to_rank0(span.begin);
    span.end = clock.to_rank0(span.end);
  }
}

double ClockFit::to_rank0(double time) const noexcept {
  const double span = last_time - first_time;
  const double part = span > 0 ? (time - first_time) / span : 0.0;
  return time + first.seconds + part * (last.seconds - first.seconds);
}

void book_waits(std::vector<std::vector<StepRecord>>& steps,
                std::vector<std::vector<BucketRecord>>& buckets,
                const std::vector<ClockFit>& clocks) {
  if (buckets.empty()) return;
  for (std::size_t i = 0; i < buckets.front().size(); ++i) {
    double latest = 0;
    for (std::size_t r = 0; r < buckets.size(); ++r) {
      latest = std::max(latest, clocks.at(r).to_rank0(buckets[r].at(i).begin));
    }
    for (std::size_t r = 0; r < buckets.size(); ++r) {
      BucketRecord& record = buckets[r][i];
      const double wait = latest - clocks[r].to_rank0(record.begin);
      record.wait = std::clamp(wait, 0.0, record.transfer);
      auto& mine = steps.at(r);
      mine.at(record.step - mine.at(0).step).all_reduce_wait += record.wait;
    }
  }
}

}  // namespace rueda
