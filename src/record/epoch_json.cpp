#include <string>

#include "aggregation.hpp"
#include "json_parts.hpp"

namespace rueda {
namespace {

Json phase_ranges(const std::array<Spread, kPhases>& phases) {
  Json j;
  for (std::size_t p = 0; p < kPhases; ++p) j[std::string(kPhaseNames[p])] = range_json(phases[p]);
  return j;
}

std::array<Spread, kPhases> over_ranks(const std::vector<RankTotal>& ranks) {
  std::array<Spread, kPhases> spreads;
  for (std::size_t p = 0; p < kPhases; ++p) {
    std::vector<double> values;
    for (const RankTotal& r : ranks) values.push_back(r.phases[p]);
    spreads[p] = spread_of(values);
  }
  return spreads;
}

Json rank_json(const RankTotal& r) {
  Json j;
  j["rank"] = r.rank;
  j["seconds"] = r.seconds;
  j["samples"] = r.samples;
  j["phases"] = phases_json(r.phases);
  j["all_reduce_busy"] = r.all_reduce_busy;
  j["all_reduce_wait"] = r.all_reduce_wait;
  j["all_reduce_add"] = r.all_reduce_add;
  j["prepare_busy"] = r.prepare_busy;
  j["copy_busy"] = r.copy_busy;
  j["copy_bytes"] = r.copy_bytes;
  j["full_step_seconds"] = spread_json(r.full_steps);
  j["full_step_compute_seconds"] = spread_json(r.full_compute);
  return j;
}

Json ranks_json(const std::vector<RankTotal>& ranks) {
  Json j = Json::array();
  for (const RankTotal& r : ranks) j.push_back(rank_json(r));
  return j;
}

/// The mean step of one kind: null if there was none.
Json mean_step_json(const StepBreakdown& b) {
  if (b.steps == 0) return nullptr;
  Json j;
  j["count"] = b.steps;
  j["seconds"] = range_json(b.step);
  j["phases"] = phase_ranges(b.phases);
  j["all_reduce_busy"] = range_json(b.busy);
  j["all_reduce_wait"] = range_json(b.wait);
  j["all_reduce_transfer"] = range_json(b.transfer);
  j["all_reduce_add"] = range_json(b.add);
  return j;
}

void add_bandwidth(Json& j, const StepBreakdown& b, const RunRecord& run) {
  const auto rate =
      bandwidth(static_cast<double>(run.gradient_bytes), b.slowest_busy, run.ranks.size());
  j["algbw_GBps"] = rate ? Json(rate->algbw) : Json();
  j["busbw_GBps"] = rate ? Json(rate->busbw) : Json();
}

Json buckets_json(std::span<const EpochRecord> epochs, const RunRecord& run) {
  Json all = Json::array();
  for (const BucketTimes& times : bucket_times(epochs)) {
    Json j;
    j["bytes"] = all.size() < run.bucket_bytes.size() ? Json(run.bucket_bytes[all.size()]) : Json();
    j["queued"] = spread_json(times.queued);
    j["busy"] = spread_json(times.busy);
    j["wait"] = spread_json(times.wait);
    j["transfer"] = spread_json(times.transfer);
    j["add"] = spread_json(times.add);
    all.push_back(j);
  }
  return all;
}

/// Per step: over all steps of whatever `b` covers.
Json communication_json(const StepBreakdown& b, std::span<const EpochRecord> epochs,
                        const RunRecord& run) {
  Json j;
  j["steps"] = b.steps;
  j["bytes_per_step"] = run.gradient_bytes;
  j["busy"] = range_json(b.busy);
  j["exposed"] = range_json(b.phases[static_cast<std::size_t>(Phase::all_reduce)]);
  j["wait"] = range_json(b.wait);
  j["transfer"] = range_json(b.transfer);
  j["add"] = range_json(b.add);
  j["busy_slowest_rank"] = b.slowest_busy;
  add_bandwidth(j, b, run);
  j["buckets"] = buckets_json(epochs, run);
  return j;
}

/// Likewise.
Json input_json(const StepBreakdown& b) {
  Json j;
  j["steps"] = b.steps;
  j["prepare_busy"] = range_json(b.prepare);
  j["prepare_exposed"] = range_json(b.phases[static_cast<std::size_t>(Phase::load)]);
  j["copy_busy"] = range_json(b.copy);
  j["copy_exposed"] = range_json(b.phases[static_cast<std::size_t>(Phase::copy)]);
  j["copy_bytes"] = range_json(b.copy_bytes);
  j["copy_GBps"] = b.copy.mean > 0 ? Json(b.copy_bytes.mean / b.copy.mean / 1e9) : Json();
  return j;
}

void add_scores(Json& j, const EpochRecord& e) {
  j["loss"] = e.train.loss;
  j["accuracy"] = e.train.accuracy;
  j["samples"] = e.train.samples;
  j["val_loss"] = e.test ? Json(e.test->loss) : Json();
  j["val_accuracy"] = e.test ? Json(e.test->accuracy) : Json();
  j["val_samples"] = e.test ? Json(e.test->samples) : Json();
  j["val_seconds"] = e.test ? Json(e.test->seconds) : Json();
}

void add_times(Json& j, const EpochRecord& e, std::size_t ranks) {
  j["seconds"] = e.seconds;
  j["images_per_second"] = e.images_per_second;
  j["images_per_second_per_rank"] = e.images_per_second / static_cast<double>(ranks);
}

Json energy_json(const EpochRecord& e, const RunRecord& run) {
  const auto joules = epoch_joules(e, run);
  const bool counts = joules && *joules > 0;
  Json j;
  j["joules"] = joules ? Json(*joules) : Json();
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
  Json j;
  j["epoch"] = e.epoch;
  j["steps"] = e.steps;
  j["resumed_at_step"] = e.resumed_at_step ? Json(*e.resumed_at_step) : Json();
  add_scores(j, e);
  j["learning_rate"] = e.learning_rate;
  add_times(j, e, run.ranks.size());
  j["parameter_hash"] = e.parameter_hash;
  j["phases"] = phase_ranges(over_ranks(ranks));
  j["full_step_seconds"] = spread_json(full.slowest);
  j["partial_step_seconds"] = spread_json(partial.slowest);
  j["full_step"] = mean_step_json(full);
  j["partial_step"] = mean_step_json(partial);
  j["communication"] = communication_json(all, one, run);
  j["input"] = input_json(all);
  j["ranks"] = ranks_json(ranks);
  j["energy"] = energy_json(e, run);
  return j;
}

SharedText epoch_text(const EpochRecord& e, const RunRecord& run) {
  if (e.written) return e.written;
  return share(text_of(epoch_json(e, run)));
}

void give_up_steps(EpochRecord& epoch, const RunRecord& run) {
  if (epoch.written) return;
  epoch.written = epoch_text(epoch, run);
  epoch.sums = sum_up(epoch.step_records, run.global_batch);
  epoch.step_records = {};
  epoch.bucket_records = {};
}

Json summary_json(const RunRecord& run) {
  const SteadyState steady = steady_state(run);
  const StepBreakdown full = break_down(steady.epochs, run.global_batch, StepKind::full);
  Json j;
  j["outcome"] = run.outcome;
  j["failure"] = run.failure.empty() ? Json() : Json(run.failure);
  j["epochs_completed"] = run.epochs.size();
  j["steady_epoch_seconds"] = steady.epoch_seconds;
  j["steady_images_per_second"] = steady.images_per_second;
  j["steady_includes_warm_up"] = steady.includes_warm_up;
  j["steady_full_step_seconds"] = spread_json(full.slowest);
  j["steady_full_step"] = mean_step_json(full);
  const StepBreakdown all = break_down(steady.epochs, run.global_batch, StepKind::all);
  j["steady_communication"] = communication_json(all, steady.epochs, run);
  j["steady_input"] = input_json(all);
  j["startup_seconds"] = startup_seconds(run.ranks);
  j["training_seconds"] = sum_of(run, [](const EpochRecord& e) { return e.seconds; });
  j["evaluation_seconds"] =
      sum_of(run, [](const EpochRecord& e) { return e.test ? e.test->seconds : 0; });
  j["total_seconds"] = run.total_seconds;
  j["seconds_to_target"] = run.seconds_to_target ? Json(*run.seconds_to_target) : Json();
  return j;
}

}  // namespace rueda
