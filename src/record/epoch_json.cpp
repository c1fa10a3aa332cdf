#include "base/error.hpp"
#include "record/aggregation.hpp"
#include "record/epoch_parts.hpp"
#include "record/json_parts.hpp"
#include "record/run_json.hpp"

namespace rueda {
namespace {

template <Phase phase>
Spread exposed(const StepBreakdown& b) {
  return b.phases[std::size_t(phase)];
}

template <typename Record>
Json phases_of(const Record& record) {
  return phases_json(record.phases);
}

/// Sums over the steps of one rank in one epoch. Its phases add up to `seconds`.
struct RankTotal : RankSums {
  std::size_t rank = 0;
  std::vector<double> full_steps;    ///< seconds of its full steps
  std::vector<double> full_compute;  ///< the same without what it waited for the all-reduce
};

Json spread_of_values(const std::vector<double>& values) { return spread_json(spread_of(values)); }

double core_time_share(const RankTotal& t) { return t.cores_got / t.cores_wanted; }
Json full_step_seconds(const RankTotal& t) { return spread_of_values(t.full_steps); }
Json full_compute_seconds(const RankTotal& t) { return spread_of_values(t.full_compute); }

const std::tuple kRankTotalFields{Field{"rank", &RankTotal::rank},
                                  Field{"seconds", &RankTotal::seconds},
                                  Field{"samples", &RankTotal::samples},
                                  Field{"phases", phases_of<RankTotal>},
                                  Field{"all_reduce_busy", &RankTotal::busy},
                                  Field{"all_reduce_wait", &RankTotal::wait},
                                  Field{"all_reduce_add", &RankTotal::add},
                                  Field{"prepare_busy", &RankTotal::prepare},
                                  Field{"copy_busy", &RankTotal::copy},
                                  Field{"copy_bytes", &RankTotal::copy_bytes},
                                  Field{"core_share", core_time_share},
                                  Field{"full_step_seconds", full_step_seconds},
                                  Field{"full_step_compute_seconds", full_compute_seconds}};

const std::tuple kMeanStepFields{Field{"count", &StepBreakdown::steps},
                                 Field{"seconds", &StepBreakdown::step},
                                 Field{"phases", phases_of<StepBreakdown>},
                                 Field{"all_reduce_busy", &StepBreakdown::busy},
                                 Field{"all_reduce_wait", &StepBreakdown::wait},
                                 Field{"all_reduce_transfer", &StepBreakdown::transfer},
                                 Field{"all_reduce_add", &StepBreakdown::add}};

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

/// Seconds of one bucket in a step of a rank: complete until its all-reduce
/// began, the all-reduce, and of this waiting for later ranks, messages,
/// adding.
struct BucketTimes {
  std::vector<double> queued, busy, wait, transfer, add;

  void add_record(const BucketRecord& r) {
    queued.push_back(r.begin - r.ready);
    busy.push_back(r.end - r.begin);
    wait.push_back(r.wait);
    transfer.push_back(r.transfer - r.wait);
    add.push_back(r.add);
  }
};
template <std::vector<double> BucketTimes::*times>
Json spread_over_steps(const BucketTimes& t) {
  return spread_of_values(t.*times);
}
const std::tuple kBucketFields{Field{"queued", spread_over_steps<&BucketTimes::queued>},
                               Field{"busy", spread_over_steps<&BucketTimes::busy>},
                               Field{"wait", spread_over_steps<&BucketTimes::wait>},
                               Field{"transfer", spread_over_steps<&BucketTimes::transfer>},
                               Field{"add", spread_over_steps<&BucketTimes::add>}};

std::vector<RankTotal> rank_totals(const EpochRecord& epoch, std::size_t global_batch) {
  std::vector<RankTotal> totals(epoch.step_records.size());
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    RankTotal& total = totals[rank];
    total.rank = rank;
    for (const StepRecord& s : epoch.step_records[rank]) {
      total += s;
      if (!is_kind(s, global_batch, StepKind::full)) continue;
      total.full_steps.push_back(s.seconds);
      total.full_compute.push_back(s.seconds - s.phases[std::size_t(Phase::all_reduce)]);
    }
  }
  return totals;
}

std::array<Spread, kPhases> spread_over(const std::vector<RankTotal>& ranks) {
  std::array<Spread, kPhases> phases;
  for (std::size_t p = 0; p < kPhases; ++p) {
    std::vector<double> seconds;
    for (const RankTotal& rank : ranks) seconds.push_back(rank.phases[p]);
    phases[p] = spread_of(seconds);
  }
  return phases;
}

/// The mean step of one kind: null if there was none.
Json mean_step_json(const StepBreakdown& b) {
  if (b.steps == 0) return nullptr;
  return fields_json(b, kMeanStepFields);
}

/// What is written of an epoch whose records were released.
Json written_buckets(const EpochRecord& epoch) {
  const Json j = Json::parse(*epoch.written);
  const JsonView communication = JsonView(j).part("communication");  // the text may be of a file
  if (!communication.has("buckets")) return Json::array();
  return communication.at("buckets").json();
}

/// Over steps and ranks.
Json buckets_json(const EpochRecord& epoch, const RunRecord& run) {
  if (epoch.written) return written_buckets(epoch);
  std::vector<BucketTimes> buckets;
  for (const BucketRecord& r : epoch.bucket_records | std::views::join) {
    buckets.resize(std::max<std::size_t>(buckets.size(), r.bucket + 1));
    buckets[r.bucket].add_record(r);
  }
  Json all = Json::array();
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    Json j = {{"bytes", nullptr}};
    if (i < run.bucket_bytes.size()) j["bytes"] = run.bucket_bytes[i];
    put_fields(j, buckets[i], kBucketFields);
    all.push_back(std::move(j));
  }
  return all;
}

/// Per step, over all steps of `b`; buckets are those of the last epoch.
/// Bandwidths that are not known are null.
Json communication_json(const StepBreakdown& b, Epochs epochs, const RunRecord& run) {
  std::size_t ranks = run.ranks.size();
  Json buckets = Json::array();
  if (!epochs.empty()) {
    ranks = epochs.back().ranks;
    buckets = buckets_json(epochs.back(), run);
  }
  Json j;
  j["steps"] = b.steps;
  j["bytes_per_step"] = run.gradient_bytes;
  put_fields(j, b, kCommunicationFields);
  j["algbw_GBps"] = nullptr;
  j["busbw_GBps"] = nullptr;
  if (const auto rate = bandwidth(double(run.gradient_bytes), b.slowest_busy, ranks)) {
    j["algbw_GBps"] = rate->algbw;
    j["busbw_GBps"] = rate->busbw;
  }
  j["buckets"] = std::move(buckets);
  return j;
}

/// All of it went to the target, which ends a run.
Json energy_json(const RunRecord& run) {
  Json j = fields_json(run_energy(run), kEnergyFields);
  const Json total = j["total_joules"], watt_hours = j["watt_hours"];
  j["joules_to_target"] = nullptr;
  j["watt_hours_to_target"] = nullptr;
  if (run.seconds_to_target)
    j.update({{"joules_to_target", total}, {"watt_hours_to_target", watt_hours}});
  return j;
}

}  // namespace

Json epoch_json(const EpochRecord& e, const RunRecord& run) {
  if (e.written) {
    Json j = Json::parse(*e.written);
    j.erase(kHistorySums);
    return j;
  }
  const Epochs one(&e, 1);
  const std::vector<RankTotal> ranks = rank_totals(e, run.global_batch);
  const StepBreakdown full = break_down(one, run.global_batch, StepKind::full);
  const StepBreakdown partial = break_down(one, run.global_batch, StepKind::partial);
  const StepBreakdown all = break_down(one, run.global_batch, StepKind::all);
  Json j = fields_json(e, kEpochFields);
  Json score = fields_json(e.test.value_or(Score()), kTestScoreFields);
  if (!e.test) {
    for (Json& value : score) value = nullptr;
  }
  j.update(score);
  put_fields(j, e, kEpochTimeFields);
  j["phases"] = phases_json(spread_over(ranks));
  j["full_step_seconds"] = spread_json(full.slowest);
  j["partial_step_seconds"] = spread_json(partial.slowest);
  j["full_step"] = mean_step_json(full);
  j["partial_step"] = mean_step_json(partial);
  j["communication"] = communication_json(all, one, run);
  j["input"] = fields_json(all, kInputFields);
  j["efficiency"] = fields_json(efficiency_seconds(e), kEfficiencyFields);
  j["ranks"] = list_json(ranks, kRankTotalFields);
  j["energy"] = fields_json(e.energy, kEnergyFields);
  j["energy"]["per_rank"] = values_of(e.rank_energy, &Energy::gpus);
  return j;
}

Json summary_json(const RunRecord& run) {
  const SteadyState steady = steady_state(run);
  const StepBreakdown full = break_down(steady.epochs, run.global_batch, StepKind::full);
  const StepBreakdown all = break_down(steady.epochs, run.global_batch, StepKind::all);
  return {{"outcome", run.outcome},
          {"failure", json_of(text_or_null(&RunRecord::failure)(run))},
          {"epochs_completed", run.epochs.size()},
          {"steady_epoch_seconds", steady.epoch_seconds},
          {"steady_images_per_second", steady.images_per_second},
          {"steady_includes_warm_up", steady.includes_warm_up},
          {"steady_full_step_seconds", spread_json(full.slowest)},
          {"steady_full_step", mean_step_json(full)},
          {"steady_efficiency", fields_json(steady.efficiency, kEfficiencyFields)},
          {"steady_communication", communication_json(all, steady.epochs, run)},
          {"steady_input", fields_json(all, kInputFields)},
          {"startup_seconds", startup_seconds(run.ranks)},
          {"training_seconds", training_seconds(run)},
          {"evaluation_seconds", evaluation_seconds(run)},
          {"total_seconds", run.total_seconds},
          {"seconds_to_target", json_of(run.seconds_to_target)},
          {"energy", energy_json(run)}};
}

}  // namespace rueda
