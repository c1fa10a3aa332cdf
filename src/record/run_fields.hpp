#pragma once

#include <utility>

#include "record/json_parts.hpp"
#include "record/run_figures.hpp"

// The fields of run.json's ranks, epochs and summary.
// Functions are only written: they follow from the members.

namespace rueda {

inline double watt_hours_of(const Energy& e) { return e.total() / 3600; }
inline double joules_per_image(const Energy& e) { return e.total() / e.images; }
inline double images_per_joule(const Energy& e) { return e.images / e.gpus; }

/// NaN and infinity are null in the text.
inline const std::tuple kEnergyFields{
    NanField{"joules", &Energy::gpus},          NanField{"host_joules", &Energy::hosts},
    Field{"total_joules", &Energy::total},      Field{"includes", &Energy::includes},
    Field{"watt_hours", watt_hours_of},         Field{"joules_per_image", joules_per_image},
    Field{"images_per_joule", images_per_joule}};

inline const std::tuple kEfficiencyFields{
    NanField{"useful_mean", &EfficiencySeconds::useful_mean},
    NanField{"useful_max", &EfficiencySeconds::useful_max},
    NanField{"ideal_network", &EfficiencySeconds::ideal_network},
    Field{"load_balance", &EfficiencySeconds::load_balance},
    Field{"serialisation", &EfficiencySeconds::serialisation},
    Field{"transfer", &EfficiencySeconds::transfer},
    Field{"communication", &EfficiencySeconds::communication},
    Field{"parallel", &EfficiencySeconds::parallel}};

inline const std::tuple kSpreadFields{Field{"count", &Spread::count},
                                      NanField{"min", &Spread::min},
                                      NanField{"mean", &Spread::mean},
                                      NanField{"median", &Spread::median},
                                      NanField{"p90", &Spread::p90},
                                      NanField{"max", &Spread::max},
                                      NanField{"deviation", &Spread::deviation}};

/// The value of one phase.
template <std::size_t phase>
struct OfPhase {
  auto& operator()(auto& values) const { return values[phase]; }
};
template <std::size_t... phases>
auto phase_fields(std::index_sequence<phases...>) {
  return std::tuple{IfAny{kPhaseNames[phases].data(), OfPhase<phases>()}...};
}
/// The phases by name.
inline const auto kPhaseFields = phase_fields(std::make_index_sequence<kPhases>());

/// What a mean step waited for.
template <Phase phase>
struct Exposed {
  auto& operator()(auto& steps) const { return steps.phases[std::size_t(phase)]; }
};

inline auto fields_of(const MeanStep&) {
  return std::tuple{Field{"count", &StepBreakdown::steps},
                    IfAny{"seconds", &StepBreakdown::step},
                    PartField{"phases", &StepBreakdown::phases, kPhaseFields},
                    IfAny{"all_reduce_busy", &StepBreakdown::busy},
                    IfAny{"all_reduce_wait", &StepBreakdown::wait},
                    IfAny{"all_reduce_transfer", &StepBreakdown::transfer},
                    IfAny{"all_reduce_add", &StepBreakdown::add}};
}
/// Null if there was none.
inline Json json_of(const MeanStep& step) {
  if (step.steps == 0) return nullptr;
  return fields_json(step, fields_of(step));
}

inline auto fields_of(const BucketFigures&) {
  return std::tuple{WholeField{"bytes", &BucketFigures::bytes},
                    PartField{"queued", &BucketFigures::queued, kSpreadFields},
                    PartField{"busy", &BucketFigures::busy, kSpreadFields},
                    PartField{"wait", &BucketFigures::wait, kSpreadFields},
                    PartField{"transfer", &BucketFigures::transfer, kSpreadFields},
                    PartField{"add", &BucketFigures::add, kSpreadFields}};
}

/// Per step. Bandwidths that are not known are null.
inline const std::tuple kCommunicationFields{IfAny{"steps", &AllSteps::steps},
                                             WholeField{"bytes_per_step", &AllSteps::bytes},
                                             IfAny{"busy", &AllSteps::busy},
                                             IfAny{"exposed", Exposed<Phase::all_reduce>()},
                                             IfAny{"wait", &AllSteps::wait},
                                             IfAny{"transfer", &AllSteps::transfer},
                                             IfAny{"add", &AllSteps::add},
                                             NanField{"busy_slowest_rank", &AllSteps::slowest_busy},
                                             NanField{"algbw_GBps", &AllSteps::algbw},
                                             NanField{"busbw_GBps", &AllSteps::busbw},
                                             IfAny{"buckets", &AllSteps::buckets}};

inline std::optional<double> copy_rate(const StepBreakdown& b) {
  if (!(b.copy.mean > 0)) return std::nullopt;
  return b.copy_bytes.mean / b.copy.mean / 1e9;
}

inline const std::tuple kInputFields{IfAny{"steps", &StepBreakdown::steps},
                                     IfAny{"prepare_busy", &StepBreakdown::prepare},
                                     IfAny{"prepare_exposed", Exposed<Phase::load>()},
                                     IfAny{"copy_busy", &StepBreakdown::copy},
                                     IfAny{"copy_exposed", Exposed<Phase::copy>()},
                                     IfAny{"copy_bytes", &StepBreakdown::copy_bytes},
                                     Field{"copy_GBps", copy_rate}};

inline auto fields_of(const RankFigures&) {
  return std::tuple{
      IfAny{"rank", &RankFigures::rank},
      NanField{"seconds", &RankFigures::seconds},
      IfAny{"samples", &RankFigures::samples},
      PartField{"phases", &RankFigures::phases, kPhaseFields},
      NanField{"all_reduce_busy", &RankFigures::busy},
      NanField{"all_reduce_wait", &RankFigures::wait},
      NanField{"all_reduce_add", &RankFigures::add},
      NanField{"prepare_busy", &RankFigures::prepare},
      NanField{"copy_busy", &RankFigures::copy},
      NanField{"copy_bytes", &RankFigures::copy_bytes},
      NanField{"core_share", &RankFigures::core_share},
      PartField{"full_step_seconds", &RankFigures::full_step, kSpreadFields},
      PartField{"full_step_compute_seconds", &RankFigures::full_compute, kSpreadFields}};
}

inline Json memory_json(const RankInfo& rank) {
  Json j;
  for (const MemoryPart& part : kMemoryParts) j[part.name] = rank.memory.*part.bytes;
  return j;
}
inline std::size_t memory_bytes(const RankInfo& rank) { return rank.memory.total(); }

inline auto fields_of(const RankInfo&) {
  return std::tuple{IfAny{"rank", &RankInfo::rank},
                    IfAny{"local_rank", &RankInfo::local_rank},
                    ShownField{"host", &RankInfo::host},
                    ShownField{"backend", &RankInfo::backend},
                    ShownIfAny{"device", &RankInfo::device},
                    Field{"uuid", text_or_null(&RankInfo::uuid)},
                    IfAny{"threads", &RankInfo::threads},
                    NanField{"cores", &RankInfo::cores},
                    Field{"memory_bytes", memory_bytes},
                    Field{"memory", memory_json},
                    Field{"startup", only_written(&RankInfo::startup)}};
}

inline double images_per_second_per_rank(const EpochFigures& e) {
  return e.images_per_second / double(e.ranks);
}

/// An epoch's scores are nothing but samples where nothing is computed.
inline const std::tuple kEpochFields{IfAny{"epoch", &EpochFigures::epoch},
                                     Field{"steps", &EpochFigures::steps},
                                     IfAny{"batch_per_rank", &EpochFigures::rank_batches},
                                     IfAny{"resumed_at_step", &EpochFigures::resumed_at_step},
                                     NanField{"loss", in(&EpochFigures::train, &Score::loss)},
                                     NanField{"accuracy", in(&EpochFigures::train, &Score::accuracy)},
                                     Field{"samples", in(&EpochFigures::train, &Score::samples)}};
inline const std::tuple kEpochTimeFields{
    NanField{"learning_rate", &EpochFigures::learning_rate},
    Field{"seconds", &EpochFigures::seconds},
    NanField{"images_per_second", &EpochFigures::images_per_second},
    Field{"images_per_second_per_rank", images_per_second_per_rank},
    IfAny{"parameter_hash", &EpochFigures::parameter_hash},
    PartField{"phases", &EpochFigures::phases, kPhaseFields},
    PartField{"full_step_seconds", in(&EpochFigures::full_step, &MeanStep::slowest), kSpreadFields},
    PartField{"partial_step_seconds", in(&EpochFigures::partial_step, &MeanStep::slowest),
              kSpreadFields},
    IfAny{"full_step", &EpochFigures::full_step},
    IfAny{"partial_step", &EpochFigures::partial_step},
    PartField{"communication", &EpochFigures::all_steps, kCommunicationFields},
    PartField{"input", &EpochFigures::all_steps, kInputFields},
    PartField{"efficiency", &EpochFigures::efficiency, kEfficiencyFields},
    IfAny{"ranks", &EpochFigures::of_ranks},
    PartField{"energy", &EpochFigures::energy, kEnergyFields}};

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
    IfAny{"outcome", &RunSummary::outcome},
    ShownIfAny{"failure", &RunSummary::failure},
    IfAny{"diverged", &RunSummary::diverged},
    IfAny{"epochs_completed", &RunSummary::epochs},
    NanField{"steady_epoch_seconds", &RunSummary::epoch_seconds},
    NanField{"steady_images_per_second", &RunSummary::images_per_second},
    IfAny{"steady_includes_warm_up", &RunSummary::includes_warm_up},
    PartField{"steady_full_step_seconds", in(&RunSummary::full_step, &MeanStep::slowest),
              kSpreadFields},
    IfAny{"steady_full_step", &RunSummary::full_step},
    PartField{"steady_efficiency", &RunSummary::efficiency, kEfficiencyFields},
    PartField{"steady_communication", &RunSummary::all_steps, kCommunicationFields},
    PartField{"steady_input", &RunSummary::all_steps, kInputFields},
    NanField{"startup_seconds", &RunSummary::startup_seconds},
    NanField{"training_seconds", &RunSummary::training_seconds},
    NanField{"evaluation_seconds", &RunSummary::evaluation_seconds},
    NanField{"total_seconds", &RunSummary::total_seconds},
    IfAny{"seconds_to_target", &RunSummary::seconds_to_target},
    Field{"energy", energy_json}};

}  // namespace rueda
