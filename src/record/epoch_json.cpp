#include "base/error.hpp"
#include "record/aggregation.hpp"
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

/// Of an epoch in a checkpoint's history, and not in run.json.
constexpr const char* kHistorySums = "sums";

Json spread_of_values(const std::vector<double>& values) { return spread_json(spread_of(values)); }

const std::tuple kRankTotalFields{
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
    Field{"core_share", [](const RankTotal& t) { return t.cores_got / t.cores_wanted; }},
    Field{"full_step_seconds", [](const RankTotal& t) { return spread_of_values(t.full_steps); }},
    Field{"full_step_compute_seconds",
          [](const RankTotal& t) { return spread_of_values(t.full_compute); }}};

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
constexpr std::array<std::pair<const char*, double (*)(const BucketRecord&)>, 5> kBucketTimes = {
    {{"queued", [](const BucketRecord& r) { return r.begin - r.ready; }},
     {"busy", [](const BucketRecord& r) { return r.end - r.begin; }},
     {"wait", [](const BucketRecord& r) { return r.wait; }},
     {"transfer", [](const BucketRecord& r) { return r.transfer - r.wait; }},
     {"add", [](const BucketRecord& r) { return r.add; }}}};

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

/// The mean step of one kind: null if there was none.
Json mean_step_json(const StepBreakdown& b) {
  return b.steps == 0 ? Json() : fields_json(b, kMeanStepFields);
}

/// What is written of an epoch whose records were released.
Json written_buckets(const EpochRecord& epoch) {
  const Json j = Json::parse(*epoch.written);
  const auto communication = j.find("communication");  // the text may be of a file
  const bool there = communication != j.end() && communication->contains("buckets");
  return there ? communication->at("buckets") : Json::array();
}

/// Over steps and ranks.
Json buckets_json(const EpochRecord& epoch, const RunRecord& run) {
  if (epoch.written) return written_buckets(epoch);
  std::vector<std::vector<BucketRecord>> records;  // by bucket
  for (const BucketRecord& r : epoch.bucket_records | std::views::join) {
    records.resize(std::max<std::size_t>(records.size(), r.bucket + 1));
    records[r.bucket].push_back(r);
  }
  Json all = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    Json j;
    j["bytes"] = i < run.bucket_bytes.size() ? Json(run.bucket_bytes[i]) : Json();
    for (const auto& [name, value] : kBucketTimes)
      j[name] = spread_of_values(values_of(records[i], value));
    all.push_back(std::move(j));
  }
  return all;
}

/// Per step, over all steps of `b`; buckets are those of the last epoch.
/// Bandwidths that are not known are null.
Json communication_json(const StepBreakdown& b, Epochs epochs, const RunRecord& run) {
  const std::size_t ranks = epochs.empty() ? run.ranks.size() : epochs.back().ranks;
  const auto rate = bandwidth(double(run.gradient_bytes), b.slowest_busy, ranks);
  Json j;
  j["steps"] = b.steps;
  j["bytes_per_step"] = run.gradient_bytes;
  put_fields(j, b, kCommunicationFields);
  j["algbw_GBps"] = rate ? Json(rate->algbw) : Json();
  j["busbw_GBps"] = rate ? Json(rate->busbw) : Json();
  j["buckets"] = epochs.empty() ? Json::array() : buckets_json(epochs.back(), run);
  return j;
}

/// NaN and infinity are null in the text.
const std::tuple kEnergyFields{
    NanField{"joules", &Energy::gpus},
    NanField{"host_joules", &Energy::hosts},
    Field{"total_joules", &Energy::total},
    Field{"includes", &Energy::includes},
    Field{"watt_hours", [](const Energy& e) { return e.total() / 3600; }},
    Field{"joules_per_image", [](const Energy& e) { return e.total() / e.images; }},
    Field{"images_per_joule", [](const Energy& e) { return e.images / e.gpus; }}};

/// All of it went to the target, which ends a run.
Json energy_json(const RunRecord& run) {
  Json j = fields_json(run_energy(run), kEnergyFields);
  j["joules_to_target"] = run.seconds_to_target ? j["total_joules"] : Json();
  j["watt_hours_to_target"] = run.seconds_to_target ? j["watt_hours"] : Json();
  return j;
}

Json sums_json(const KindSums& sums) {
  return {{"ranks", list_json(sums.ranks, kRankSumsFields)},
          {"slowest", sums.slowest},
          {"slowest_busy", sums.slowest_busy}};
}

KindSums kind_sums(const Json& j, std::size_t ranks) {
  KindSums sums;
  for (const Json& rank : j.at("ranks"))
    read_fields(rank, sums.ranks.emplace_back(), kRankSumsFields);
  require(sums.ranks.empty() || sums.ranks.size() == ranks, "its sums are of other ranks");
  read_value(j, "slowest", sums.slowest);
  read_value(j, "slowest_busy", sums.slowest_busy);
  return sums;
}

EpochRecord epoch_record(const Json& j) {
  EpochRecord e;
  read_fields(j, e, kEpochFields);
  read_fields(j, e, kEpochTimeFields);
  e.train.seconds = e.seconds;
  if (!j.at("val_loss").is_null()) read_fields(j, e.test.emplace(), kTestScoreFields);
  if (j.contains("energy")) read_fields(j["energy"], e.energy, kEnergyFields);
  e.energy.images = double(e.train.samples);
  e.ranks = j.at("ranks").size();
  // Versions before wrote none.
  if (j.contains("efficiency")) read_fields(j.at("efficiency"), e.efficiency, kEfficiencyFields);
  if (j.contains(kHistorySums)) {
    e.sums.full = kind_sums(j.at(kHistorySums).at("full"), e.ranks);
    e.sums.partial = kind_sums(j.at(kHistorySums).at("partial"), e.ranks);
  }
  e.written = share(text_of(j));
  return e;
}

/// An element of the history's `epochs`, on one line: that of run.json, and the
/// sums from which a later process makes the figures of several epochs.
SharedText epoch_text(const EpochRecord& e, const RunRecord& run) {
  if (e.written) return e.written;
  Json j = epoch_json(e, run);
  const EpochSums sums = sum_up(e.step_records, run.global_batch);
  j[kHistorySums] = {{"full", sums_json(sums.full)}, {"partial", sums_json(sums.partial)}};
  return share(text_of(j));
}

constexpr const char* kTotalSeconds = "total_seconds";
constexpr std::string_view kBeforeEpochs = "\"epochs\":[";
constexpr std::string_view kBehindEpochs = "]}";

/// The first line of `text`, which goes from it. Throws InputError where there is none.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) throw InputError("it ends too early");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

void restore_head(RunRecord& run, std::string_view line) {
  if (!line.ends_with(kBeforeEpochs)) throw InputError("it is no history of epochs");
  const Json j = parse_json(std::string(line).append(kBehindEpochs));
  run.started_at = j.at("started_at");
  for (const Json& r : j.at("resumptions"))
    read_fields(r, run.resumptions.emplace_back(), kResumptionFields);
  run.earlier_seconds = number_or_nan(j, kTotalSeconds);
  run.total_seconds = run.earlier_seconds;
  if (!j.contains(kTotalSeconds)) return;  // of a version that wrote neither
  for (const Json& c : j.at("checkpoints"))
    read_fields(c, run.checkpoints.emplace_back(), kCheckpointFields);
  read_fields(j.at("audit"), run.audit, kAuditFields);
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
  std::array<Spread, kPhases> phases;  // over ranks
  for (std::size_t p = 0; p < kPhases; ++p)
    phases[p] = spread_of(values_of(ranks, [p](const RankTotal& r) { return r.phases[p]; }));
  Json j = fields_json(e, kEpochFields);
  const Json score = fields_json(e.test.value_or(Score()), kTestScoreFields);
  for (const auto& [name, value] : score.items()) j[name] = e.test ? value : Json();
  put_fields(j, e, kEpochTimeFields);
  j["phases"] = phases_json(phases);
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

void release_steps(EpochRecord& epoch, const RunRecord& run) {
  if (epoch.written) return;
  epoch.efficiency = efficiency_seconds(epoch);
  epoch.written = epoch_text(epoch, run);
  epoch.sums = sum_up(epoch.step_records, run.global_batch);
  epoch.step_records = {};
  epoch.bucket_records = {};
}

/// Epochs stand on lines of their own, as the run holds them: a checkpoint each
/// epoch makes no copy of all epochs before, and limits on JSON are limits of
/// an epoch, not of the whole history.
TextPieces history_json(const RunRecord& run) {
  std::string head = text_of({{"started_at", run.started_at},
                              {"resumptions", list_json(run.resumptions, kResumptionFields)},
                              {"checkpoints", list_json(run.checkpoints, kCheckpointFields)},
                              {"audit", fields_json(run.audit, kAuditFields)},
                              {kTotalSeconds, run.total_seconds}});
  head.back() = ',';  // instead of the brace
  TextPieces pieces = {share(head.append(kBeforeEpochs) + "\n")};
  const SharedText comma = share(",\n");
  for (const EpochRecord& e : run.epochs) {
    if (pieces.size() > 1) pieces.push_back(comma);
    pieces.push_back(epoch_text(e, run));
  }
  pieces.push_back(share(run.epochs.empty() ? "]}\n" : "\n]}\n"));
  return pieces;
}

void restore_history(RunRecord& run, const std::string& text, const std::string& what) {
  try {
    std::string_view rest = text;
    restore_head(run, take_line(rest));
    for (std::string_view line; (line = take_line(rest)) != kBehindEpochs;) {
      if (line.empty()) continue;
      if (line.ends_with(',')) line.remove_suffix(1);
      run.epochs.push_back(epoch_record(parse_json(line)));
    }
    if (!rest.empty()) throw InputError("it goes on after its end");
  } catch (const std::exception& error) {  // Json::exception, InputError
    throw InputError(what + ": " + error.what());
  }
}

Json summary_json(const RunRecord& run) {
  const SteadyState steady = steady_state(run);
  const StepBreakdown full = break_down(steady.epochs, run.global_batch, StepKind::full);
  const StepBreakdown all = break_down(steady.epochs, run.global_batch, StepKind::all);
  return {{"outcome", run.outcome},
          {"failure", run.failure.empty() ? Json() : Json(run.failure)},
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
