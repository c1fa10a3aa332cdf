#include <limits>

#include "json_parts.hpp"
#include "rueda/record/aggregation.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

template <Phase phase>
Spread exposed(const StepBreakdown& b) {
  return b.phases[static_cast<std::size_t>(phase)];
}

template <typename Record>
Json phases_of(const Record& record) {
  return phases_json(record.phases);
}

const std::tuple kRankFields{
    Field{"rank", &RankTotal::rank},
    Field{"seconds", &RankTotal::seconds},
    Field{"samples", &RankTotal::samples},
    Field{"phases", phases_of<RankTotal>},
    Field{"all_reduce_busy", &RankTotal::busy},
    Field{"all_reduce_wait", &RankTotal::wait},
    Field{"all_reduce_add", &RankTotal::add},
    Field{"prepare_busy", &RankTotal::prepare},
    Field{"copy_busy", &RankTotal::copy},
    Field{"copy_bytes", &RankTotal::copy_bytes},
    Field{"full_step_seconds", whole_spread(&RankTotal::full_steps)},
    Field{"full_step_compute_seconds", whole_spread(&RankTotal::full_compute)}};

const std::tuple kMeanStepFields{Field{"count", &StepBreakdown::steps},
                                 Field{"seconds", &StepBreakdown::step},
                                 Field{"phases", phases_of<StepBreakdown>},
                                 Field{"all_reduce_busy", &StepBreakdown::busy},
                                 Field{"all_reduce_wait", &StepBreakdown::wait},
                                 Field{"all_reduce_transfer", &StepBreakdown::transfer},
                                 Field{"all_reduce_add", &StepBreakdown::add}};

const std::tuple kBucketFields{Field{"queued", whole_spread(&BucketTimes::queued)},
                               Field{"busy", whole_spread(&BucketTimes::busy)},
                               Field{"wait", whole_spread(&BucketTimes::wait)},
                               Field{"transfer", whole_spread(&BucketTimes::transfer)},
                               Field{"add", whole_spread(&BucketTimes::add)}};

const std::tuple kCommunicationFields{
    Field{"busy", &StepBreakdown::busy}, Field{"exposed", exposed<Phase::all_reduce>},
    Field{"wait", &StepBreakdown::wait}, Field{"transfer", &StepBreakdown::transfer},
    Field{"add", &StepBreakdown::add},   Field{"busy_slowest_rank", &StepBreakdown::slowest_busy}};

std::optional<double> copy_rate(const StepBreakdown& b) {
  if (!(b.copy.mean > 0)) return std::nullopt;
  return b.copy_bytes.mean / b.copy.mean / 1e9;
}

const std::tuple kInputFields{Field{"steps", &StepBreakdown::steps},
                              Field{"prepare_busy", &StepBreakdown::prepare},
                              Field{"prepare_exposed", exposed<Phase::load>},
                              Field{"copy_busy", &StepBreakdown::copy},
                              Field{"copy_exposed", exposed<Phase::copy>},
                              Field{"copy_bytes", &StepBreakdown::copy_bytes},
                              Field{"copy_GBps", copy_rate}};

std::array<Spread, kPhases> over_ranks(const std::vector<RankTotal>& ranks) {
  std::array<Spread, kPhases> spreads;
  for (std::size_t p = 0; p < kPhases; ++p) {
    std::vector<double> values;
    for (const RankTotal& r : ranks) values.push_back(r.phases[p]);
    spreads[p] = spread_of(values);
  }
  return spreads;
}

/// The mean step of one kind: null if there was none.
Json mean_step_json(const StepBreakdown& b) {
  return b.steps == 0 ? Json() : fields_json(b, kMeanStepFields);
}

Json buckets_json(std::span<const EpochRecord> epochs, const RunRecord& run) {
  Json all = Json::array();
  for (const BucketTimes& times : bucket_times(epochs)) {
    Json j;
    j["bytes"] = all.size() < run.bucket_bytes.size() ? Json(run.bucket_bytes[all.size()]) : Json();
    put_fields(j, times, kBucketFields);
    all.push_back(j);
  }
  return all;
}

/// Per step, over all steps of `b`. Bandwidths that are not known are NaN, which is written as
/// null.
Json communication_json(const StepBreakdown& b, std::span<const EpochRecord> epochs,
                        const RunRecord& run) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto rate =
      bandwidth(static_cast<double>(run.gradient_bytes), b.slowest_busy, run.ranks.size());
  Json j;
  j["steps"] = b.steps;
  j["bytes_per_step"] = run.gradient_bytes;
  put_fields(j, b, kCommunicationFields);
  j["algbw_GBps"] = rate ? rate->algbw : kNan;
  j["busbw_GBps"] = rate ? rate->busbw : kNan;
  j["buckets"] = buckets_json(epochs, run);
  return j;
}

void put_scores(Json& j, const EpochRecord& e) {
  put_fields(j, e.train, kTrainScoreFields);
  put_fields(j, e.test.value_or(Score()), kTestScoreFields);
  if (e.test) return;
  std::apply([&j](const auto&... field) { ((j[field.name] = nullptr), ...); }, kTestScoreFields);
}

void put_times(Json& j, const EpochRecord& e, std::size_t ranks) {
  put_fields(j, e, kEpochTimeFields);
  j["images_per_second_per_rank"] = e.images_per_second / static_cast<double>(ranks);
  put_fields(j, e, kEpochHashFields);
}

Json energy_json(const EpochRecord& e, const RunRecord& run) {
  const auto joules = epoch_joules(e, run);
  const bool counts = joules && *joules > 0;
  Json j;
  j["joules"] = json_of(joules);
  j["images_per_joule"] = counts ? Json(static_cast<double>(e.train.samples) / *joules) : Json();
  j["per_rank"] = e.energy_joules;
  return j;
}

double sum_of(const RunRecord& run, double (*value)(const EpochRecord&)) {
  double sum = 0;
  for (const EpochRecord& e : run.epochs) sum += value(e);
  return sum;
}

}  // namespace

Json epoch_json(const EpochRecord& e, const RunRecord& run) {
  if (e.written) return Json::parse(*e.written);
  const std::span<const EpochRecord> one(&e, 1);
  const std::vector<RankTotal> ranks = rank_totals(e, run.global_batch);
  const StepBreakdown full = break_down(one, run.global_batch, StepKind::full);
  const StepBreakdown partial = break_down(one, run.global_batch, StepKind::partial);
  const StepBreakdown all = break_down(one, run.global_batch, StepKind::all);
  Json j = fields_json(e, kEpochFields);
  put_scores(j, e);
  put_times(j, e, run.ranks.size());
  j["phases"] = phases_json(over_ranks(ranks));
  j["full_step_seconds"] = spread_json(full.slowest);
  j["partial_step_seconds"] = spread_json(partial.slowest);
  j["full_step"] = mean_step_json(full);
  j["partial_step"] = mean_step_json(partial);
  j["communication"] = communication_json(all, one, run);
  j["input"] = fields_json(all, kInputFields);
  j["ranks"] = list_json(ranks, kRankFields);
  j["energy"] = energy_json(e, run);
  return j;
}

SharedText epoch_text(const EpochRecord& e, const RunRecord& run) {
  if (e.written) return e.written;
  return share(text_of(epoch_json(e, run)));
}

void release_steps(EpochRecord& epoch, const RunRecord& run) {
  if (epoch.written) return;
  epoch.written = epoch_text(epoch, run);
  epoch.sums = sum_up(epoch.step_records, run.global_batch);
  epoch.step_records = {};
  epoch.bucket_records = {};
}

Json summary_json(const RunRecord& run) {
  const SteadyState steady = steady_state(run);
  const StepBreakdown full = break_down(steady.epochs, run.global_batch, StepKind::full);
  const StepBreakdown all = break_down(steady.epochs, run.global_batch, StepKind::all);
  Json j;
  j["outcome"] = run.outcome;
  j["failure"] = run.failure.empty() ? Json() : Json(run.failure);
  j["epochs_completed"] = run.epochs.size();
  j["steady_epoch_seconds"] = steady.epoch_seconds;
  j["steady_images_per_second"] = steady.images_per_second;
  j["steady_includes_warm_up"] = steady.includes_warm_up;
  j["steady_full_step_seconds"] = spread_json(full.slowest);
  j["steady_full_step"] = mean_step_json(full);
  j["steady_communication"] = communication_json(all, steady.epochs, run);
  j["steady_input"] = fields_json(all, kInputFields);
  j["startup_seconds"] = startup_seconds(run.ranks);
  j["training_seconds"] = sum_of(run, [](const EpochRecord& e) { return e.seconds; });
  j["evaluation_seconds"] =
      sum_of(run, [](const EpochRecord& e) { return e.test ? e.test->seconds : 0; });
  j["total_seconds"] = run.total_seconds;
  j["seconds_to_target"] = json_of(run.seconds_to_target);
  return j;
}

}  // namespace rueda
