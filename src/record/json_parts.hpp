#pragma once

#include <string>
#include <tuple>

#include "base/json_fields.hpp"
#include "base/statistics.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Keeps the order in which fields were written, which is the order that a person reads.
using Json = nlohmann::ordered_json;

/// {min, mean, max}.
Json json_of(const Spread& spread);
/// {count, min, mean, median, p90, max, deviation}.
Json spread_json(const Spread& spread);

/// The names of the phases and their values.
template <typename Value>
Json phases_json(const std::array<Value, kPhases>& values) {
  Json j;
  for (std::size_t p = 0; p < kPhases; ++p) j[std::string(kPhaseNames[p])] = json_of(values[p]);
  return j;
}

// What a checkpoint keeps of a run, and reads back.

inline auto fields_of(const CheckpointRecord&) {
  return std::tuple{Field{"path", &CheckpointRecord::path},
                    Field{"epochs", &CheckpointRecord::epochs},
                    Field{"steps", &CheckpointRecord::steps},
                    Field{"bytes", &CheckpointRecord::bytes},
                    NanField{"pause_seconds", &CheckpointRecord::pause_seconds},
                    NanField{"write_seconds", &CheckpointRecord::write_seconds}};
}
inline auto fields_of(const AuditRecord&) {
  return std::tuple{Field{"steps", &AuditRecord::steps}, Field{"findings", &AuditRecord::findings}};
}
/// Of the steps of a rank: what run.json adds up over epochs.
inline auto fields_of(const RankSums&) {
  return std::tuple{
      Field{"steps", &RankSums::steps},      Field{"samples", &RankSums::samples},
      Field{"seconds", &RankSums::seconds},  Field{"phases", &RankSums::phases},
      Field{"busy", &RankSums::busy},        Field{"wait", &RankSums::wait},
      Field{"add", &RankSums::add},          Field{"prepare", &RankSums::prepare},
      Field{"copy", &RankSums::copy},        Field{"copy_bytes", &RankSums::copy_bytes},
      NanField{"got", &RankSums::cores_got}, NanField{"wanted", &RankSums::cores_wanted}};
}
inline auto fields_of(const KindSums&) {
  return std::tuple{Field{"ranks", &KindSums::ranks}, Field{"slowest", &KindSums::slowest},
                    Field{"slowest_busy", &KindSums::slowest_busy}};
}
inline auto fields_of(const EpochSums&) {
  return std::tuple{Field{"full", &EpochSums::full}, Field{"partial", &EpochSums::partial}};
}
inline auto fields_of(const Resumption&) {
  return std::tuple{Field{"at", &Resumption::at}, Field{"checkpoint", &Resumption::checkpoint},
                    Field{"epochs", &Resumption::epochs}, Field{"steps", &Resumption::steps},
                    Field{"world_size", &Resumption::ranks}};
}
/// An epoch's scores are nothing but samples where nothing is computed.
inline const std::tuple kEpochFields{
    Field{"epoch", &EpochRecord::epoch},
    Field{"steps", &EpochRecord::steps},
    Field{"resumed_at_step", &EpochRecord::resumed_at_step},
    NanField{"loss", in(&EpochRecord::train, &Score::loss)},
    NanField{"accuracy", in(&EpochRecord::train, &Score::accuracy)},
    Field{"samples", in(&EpochRecord::train, &Score::samples)}};
inline const std::tuple kTestScoreFields{
    Field{"val_loss", &Score::loss}, Field{"val_accuracy", &Score::accuracy},
    Field{"val_samples", &Score::samples}, Field{"val_seconds", &Score::seconds}};
inline const std::tuple kEpochTimeFields{
    Field{"learning_rate", &EpochRecord::learning_rate}, Field{"seconds", &EpochRecord::seconds},
    Field{"images_per_second", &EpochRecord::images_per_second},
    Field{"images_per_second_per_rank",
          [](const EpochRecord& e) { return e.images_per_second / double(e.ranks); }},
    Field{"parameter_hash", &EpochRecord::parameter_hash}};
/// Functions are only written: they follow from the members.
inline const std::tuple kEfficiencyFields{
    NanField{"useful_mean", &EfficiencySeconds::useful_mean},
    NanField{"useful_max", &EfficiencySeconds::useful_max},
    NanField{"ideal_network", &EfficiencySeconds::ideal_network},
    Field{"load_balance", &EfficiencySeconds::load_balance},
    Field{"serialisation", &EfficiencySeconds::serialisation},
    Field{"transfer", &EfficiencySeconds::transfer},
    Field{"communication", &EfficiencySeconds::communication},
    Field{"parallel", &EfficiencySeconds::parallel}};

/// One element of `epochs`.
Json epoch_json(const EpochRecord& epoch, const RunRecord& run);
/// The object `summary`.
Json summary_json(const RunRecord& run);

}  // namespace rueda
