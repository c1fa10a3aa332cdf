#pragma once

#include <utility>

#include "record/json_parts.hpp"
#include "record/run_figures.hpp"

// The fields of run.json's ranks, epochs and summary.

namespace rueda {

inline double watt_hours_of(const Energy& e) { return e.total() / 3600; }
inline double joules_per_image(const Energy& e) { return e.total() / e.images; }
inline double images_per_joule(const Energy& e) { return e.images / e.gpus; }

/// NaN and infinity are null in the text.
inline const std::tuple kEnergyFields{
    Field{"joules", &Energy::gpus, or_nan},       Field{"host_joules", &Energy::hosts, or_nan},
    Derived{"total_joules", &Energy::total},      Derived{"includes", &Energy::includes},
    Derived{"watt_hours", watt_hours_of},         Derived{"joules_per_image", joules_per_image},
    Derived{"images_per_joule", images_per_joule}};

inline const std::tuple kEfficiencyFields{
    Field{"useful_mean", &EfficiencySeconds::useful_mean, or_nan},
    Field{"useful_max", &EfficiencySeconds::useful_max, or_nan},
    Field{"ideal_network", &EfficiencySeconds::ideal_network, or_nan},
    Derived{"load_balance", &EfficiencySeconds::load_balance},
    Derived{"serialisation", &EfficiencySeconds::serialisation},
    Derived{"transfer", &EfficiencySeconds::transfer},
    Derived{"communication", &EfficiencySeconds::communication},
    Derived{"parallel", &EfficiencySeconds::parallel}};

inline const std::tuple kSpreadFields{Field{"count", &Spread::count},
                                      Field{"min", &Spread::min, or_nan},
                                      Field{"mean", &Spread::mean, or_nan},
                                      Field{"median", &Spread::median, or_nan},
                                      Field{"p90", &Spread::p90, or_nan},
                                      Field{"max", &Spread::max, or_nan},
                                      Field{"deviation", &Spread::deviation, or_nan}};

template <std::size_t... phases>
auto phase_fields(std::index_sequence<phases...>) {
  return std::tuple{Field{kPhaseNames[phases].data(), element<phases>, if_any}...};
}
/// The phases by name.
inline const auto kPhaseFields = phase_fields(std::make_index_sequence<kPhases>());

/// The seconds of a phase that a mean step waited for.
template <Phase phase>
inline constexpr auto exposed = in(&StepBreakdown::phases, element<std::size_t(phase)>);

inline auto fields_of(const StepBreakdown&) {
  return std::tuple{Field{"count", &StepBreakdown::steps},
                    Field{"seconds", &StepBreakdown::step, if_any},
                    Field{"phases", &StepBreakdown::phases, kPhaseFields, if_any},
                    Field{"all_reduce_busy", &StepBreakdown::busy, if_any},
                    Field{"all_reduce_wait", &StepBreakdown::wait, if_any},
                    Field{"all_reduce_transfer", &StepBreakdown::transfer, if_any},
                    Field{"all_reduce_add", &StepBreakdown::add, if_any}};
}
/// Null if there was none.
inline Json json_of(const StepBreakdown& step) {
  if (step.steps == 0) return nullptr;
  return fields_json(step, fields_of(step));
}

inline auto fields_of(const BucketFigures&) {
  return std::tuple{Field{"bytes", &BucketFigures::bytes, whole_or_nan},
                    Field{"queued", &BucketFigures::queued, kSpreadFields, if_any},
                    Field{"busy", &BucketFigures::busy, kSpreadFields, if_any},
                    Field{"wait", &BucketFigures::wait, kSpreadFields, if_any},
                    Field{"transfer", &BucketFigures::transfer, kSpreadFields, if_any},
                    Field{"add", &BucketFigures::add, kSpreadFields, if_any}};
}

/// Per step. Bandwidths that are not known are null.
inline const std::tuple kCommunicationFields{
    Field{"steps", in(&AllSteps::mean, &StepBreakdown::steps), if_any},
    Field{"bytes_per_step", &AllSteps::bytes, whole_or_nan},
    Field{"busy", in(&AllSteps::mean, &StepBreakdown::busy), if_any},
    Field{"exposed", in(&AllSteps::mean, exposed<Phase::all_reduce>), if_any},
    Field{"wait", in(&AllSteps::mean, &StepBreakdown::wait), if_any},
    Field{"transfer", in(&AllSteps::mean, &StepBreakdown::transfer), if_any},
    Field{"add", in(&AllSteps::mean, &StepBreakdown::add), if_any},
    Field{"busy_slowest_rank", in(&AllSteps::mean, &StepBreakdown::slowest_busy), or_nan},
    Field{"algbw_GBps", &AllSteps::algbw, or_nan},
    Field{"busbw_GBps", &AllSteps::busbw, or_nan},
    Field{"buckets", &AllSteps::buckets, if_any}};

inline std::optional<double> copy_rate(const StepBreakdown& b) {
  if (!(b.copy.mean > 0)) return std::nullopt;
  return b.copy_bytes.mean / b.copy.mean / 1e9;
}

inline const std::tuple kInputFields{Field{"steps", &StepBreakdown::steps, if_any},
                                     Field{"prepare_busy", &StepBreakdown::prepare, if_any},
                                     Field{"prepare_exposed", exposed<Phase::load>, if_any},
                                     Field{"copy_busy", &StepBreakdown::copy, if_any},
                                     Field{"copy_exposed", exposed<Phase::copy>, if_any},
                                     Field{"copy_bytes", &StepBreakdown::copy_bytes, if_any},
                                     Derived{"copy_GBps", copy_rate}};

inline auto fields_of(const RankFigures&) {
  return std::tuple{
      Field{"rank", &RankFigures::rank, if_any},
      Field{"seconds", in(&RankFigures::sums, &RankSums::seconds), or_nan},
      Field{"samples", in(&RankFigures::sums, &RankSums::samples), if_any},
      Field{"phases", in(&RankFigures::sums, &RankSums::phases), kPhaseFields, if_any},
      Field{"all_reduce_busy", in(&RankFigures::sums, &RankSums::busy), or_nan},
      Field{"all_reduce_wait", in(&RankFigures::sums, &RankSums::wait), or_nan},
      Field{"all_reduce_add", in(&RankFigures::sums, &RankSums::add), or_nan},
      Field{"prepare_busy", in(&RankFigures::sums, &RankSums::prepare), or_nan},
      Field{"copy_busy", in(&RankFigures::sums, &RankSums::copy), or_nan},
      Field{"copy_bytes", in(&RankFigures::sums, &RankSums::copy_bytes), or_nan},
      Field{"core_share", &RankFigures::core_share, or_nan},
      Field{"full_step_seconds", &RankFigures::full_step, kSpreadFields, if_any},
      Field{"full_step_compute_seconds", &RankFigures::full_compute, kSpreadFields, if_any}};
}

inline Json memory_json(const RankInfo& rank) {
  Json j;
  for (const MemoryPart& part : kMemoryParts) j[part.name] = rank.memory.*part.bytes;
  return j;
}
inline std::size_t memory_bytes(const RankInfo& rank) { return rank.memory.total(); }

inline auto fields_of(const RankInfo&) {
  return std::tuple{Field{"rank", &RankInfo::rank, if_any},
                    Field{"local_rank", &RankInfo::local_rank, if_any},
                    Field{"host", &RankInfo::host, shown},
                    Field{"backend", &RankInfo::backend, shown},
                    Field{"device", &RankInfo::device, shown, if_any},
                    Derived{"uuid", text_or_null(&RankInfo::uuid)},
                    Field{"threads", &RankInfo::threads, if_any},
                    Field{"cores", &RankInfo::cores, or_nan},
                    Derived{"memory_bytes", memory_bytes},
                    Derived{"memory", memory_json},
                    Derived{"startup", &RankInfo::startup}};
}

inline auto fields_of(const OverRanks&) {
  return std::tuple{Field{"seconds", &OverRanks::seconds, kSpreadFields, if_any},
                    Field{"useful_seconds", &OverRanks::useful, kSpreadFields, if_any},
                    Field{"all_reduce_wait", &OverRanks::wait, kSpreadFields, if_any},
                    Field{"core_share", &OverRanks::core_share, kSpreadFields, if_any},
                    Field{"slowest_rank", &OverRanks::slowest, if_any}};
}

inline double images_per_second_per_rank(const EpochRecord& e) {
  return e.images_per_second / double(e.ranks);
}

/// An epoch's scores are nothing but samples where nothing is computed.
inline const std::tuple kEpochFields{
    Field{"epoch", &EpochRecord::epoch, if_any},
    Field{"steps", &EpochRecord::steps},
    Field{"world_size", &EpochRecord::ranks, if_any},
    Field{"batch_per_rank", &EpochRecord::rank_batches, if_any},
    Field{"resumed_at_step", &EpochRecord::resumed_at_step, if_any},
    Field{"loss", in(&EpochRecord::train, &Score::loss), or_nan},
    Field{"accuracy", in(&EpochRecord::train, &Score::accuracy), or_nan},
    Field{"samples", in(&EpochRecord::train, &Score::samples)}};
inline const std::tuple kEpochTimeFields{
    Field{"learning_rate", &EpochRecord::learning_rate, or_nan},
    Field{"seconds", &EpochRecord::seconds},
    Field{"images_per_second", &EpochRecord::images_per_second, or_nan},
    Derived{"images_per_second_per_rank", images_per_second_per_rank},
    Field{"bookkeeping_seconds", &EpochRecord::bookkeeping_seconds, or_nan},
    Field{"clock_seconds", &EpochRecord::clock_seconds, or_nan},
    Field{"parameter_hash", &EpochRecord::parameter_hash, if_any},
    Field{"phases", &EpochRecord::phases, kPhaseFields, if_any},
    Field{"full_step_seconds", in(&EpochRecord::full_step, &StepBreakdown::slowest), kSpreadFields,
          if_any},
    Field{"partial_step_seconds", in(&EpochRecord::partial_step, &StepBreakdown::slowest),
          kSpreadFields, if_any},
    Field{"full_step", &EpochRecord::full_step, if_any},
    Field{"partial_step", &EpochRecord::partial_step, if_any},
    Field{"communication", &EpochRecord::all_steps, kCommunicationFields, if_any},
    Field{"input", in(&EpochRecord::all_steps, &AllSteps::mean), kInputFields, if_any},
    Field{"efficiency", &EpochRecord::efficiency, kEfficiencyFields, if_any},
    Field{"over_ranks", &EpochRecord::over_ranks, if_any},
    Field{"ranks", &EpochRecord::of_ranks, if_any},
    Field{"energy", &EpochRecord::energy, kEnergyFields, if_any},
    Field{"gradient_noise", &EpochRecord::gradient_noise, if_any}};

/// All of it went to the target, which ends a run.
inline Json energy_json(const RunSummary& run) {
  Json j = fields_json(run.energy, kEnergyFields);
  const Json total = j["total_joules"], watt_hours = j["watt_hours"];
  j["joules_to_target"] = nullptr;
  j["watt_hours_to_target"] = nullptr;
  if (run.seconds_to_target)
    j.update({{"joules_to_target", total}, {"watt_hours_to_target", watt_hours}});
  return j;
}

inline const std::tuple kSummaryFields{
    Field{"outcome", &RunSummary::outcome, if_any},
    Field{"failure", &RunSummary::failure, shown, if_any},
    Field{"diverged", &RunSummary::diverged, if_any},
    Field{"epochs_completed", &RunSummary::epochs, if_any},
    Field{"steady_epoch_seconds", &RunSummary::epoch_seconds, or_nan},
    Field{"steady_images_per_second", &RunSummary::images_per_second, or_nan},
    Field{"steady_includes_warm_up", &RunSummary::includes_warm_up, if_any},
    Field{"steady_full_step_seconds", in(&RunSummary::full_step, &StepBreakdown::slowest),
          kSpreadFields, if_any},
    Field{"steady_full_step", &RunSummary::full_step, if_any},
    Field{"steady_efficiency", &RunSummary::efficiency, kEfficiencyFields, if_any},
    Field{"steady_communication", &RunSummary::all_steps, kCommunicationFields, if_any},
    Field{"steady_input", in(&RunSummary::all_steps, &AllSteps::mean), kInputFields, if_any},
    Field{"startup_seconds", &RunSummary::startup_seconds, or_nan},
    Field{"training_seconds", &RunSummary::training_seconds, or_nan},
    Field{"evaluation_seconds", &RunSummary::evaluation_seconds, or_nan},
    Field{"bookkeeping_seconds", &RunSummary::bookkeeping_seconds, or_nan},
    Field{"clock_seconds", &RunSummary::clock_seconds, or_nan},
    Field{"total_seconds", &RunSummary::total_seconds, or_nan},
    Field{"seconds_to_target", &RunSummary::seconds_to_target, if_any},
    Derived{"energy", energy_json},
    Field{"gradient_noise", &RunSummary::gradient_noise, if_any}};

}  // namespace rueda
