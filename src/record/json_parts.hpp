#pragma once

#include <string>
#include <tuple>

#include "base/json/json_fields.hpp"
#include "base/statistics.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Keeps the order in which fields were written, which is the order that a person reads.
using Json = nlohmann::ordered_json;

/// Over ranks.
inline auto fields_of(const Spread&) {
  return std::tuple{Field{"min", &Spread::min, or_nan}, Field{"mean", &Spread::mean, or_nan},
                    Field{"max", &Spread::max, or_nan}};
}

/// The names of the phases and their values.
template <typename Value>
Json phases_json(const std::array<Value, kPhases>& values) {
  Json j;
  for (std::size_t p = 0; p < kPhases; ++p) j[std::string(kPhaseNames[p])] = json_of(values[p]);
  return j;
}

// A checkpoint keeps the following of a run, and reads it back.

inline auto fields_of(const CheckpointRecord&) {
  return std::tuple{Field{"path", &CheckpointRecord::path},
                    Field{"epochs", &CheckpointRecord::epochs},
                    Field{"steps", &CheckpointRecord::steps},
                    Field{"bytes", &CheckpointRecord::bytes},
                    Field{"pause_seconds", &CheckpointRecord::pause_seconds, or_nan},
                    Field{"write_seconds", &CheckpointRecord::write_seconds, or_nan}};
}
inline auto fields_of(const AuditRecord&) {
  return std::tuple{Field{"steps", &AuditRecord::steps}, Field{"findings", &AuditRecord::findings}};
}
/// run.json adds these sums of a rank's steps up over epochs.
inline auto fields_of(const RankSums&) {
  return std::tuple{Field{"steps", &RankSums::steps},
                    Field{"samples", &RankSums::samples},
                    Field{"seconds", &RankSums::seconds},
                    Field{"phases", &RankSums::phases},
                    Field{"busy", &RankSums::busy},
                    Field{"wait", &RankSums::wait},
                    Field{"add", &RankSums::add},
                    Field{"prepare", &RankSums::prepare},
                    Field{"copy", &RankSums::copy},
                    Field{"copy_bytes", &RankSums::copy_bytes},
                    Field{"got", &RankSums::cores_got, or_nan},
                    Field{"wanted", &RankSums::cores_wanted, or_nan}};
}
inline auto fields_of(const KindSums&) {
  return std::tuple{Field{"ranks", &KindSums::ranks}, Field{"slowest", &KindSums::slowest},
                    Field{"slowest_busy", &KindSums::slowest_busy},
                    Field{"least_exposed", &KindSums::least_exposed, if_any}};
}
inline auto fields_of(const EpochSums&) {
  return std::tuple{Field{"full", &EpochSums::full}, Field{"partial", &EpochSums::partial}};
}
inline auto fields_of(const Resumption&) {
  return std::tuple{Field{"at", &Resumption::at}, Field{"checkpoint", &Resumption::checkpoint},
                    Field{"epochs", &Resumption::epochs}, Field{"steps", &Resumption::steps},
                    Field{"world_size", &Resumption::ranks}};
}
inline auto fields_of(const GradientNoise&) {
  return std::tuple{Field{"scale", &GradientNoise::scale, or_nan},
                    Field{"low", &GradientNoise::low, or_nan},
                    Field{"high", &GradientNoise::high, or_nan},
                    Field{"gradient_norm2", &GradientNoise::gradient_norm2, or_nan},
                    Field{"variance", &GradientNoise::variance, or_nan},
                    Field{"batch", &GradientNoise::batch},
                    Field{"parts", &GradientNoise::parts},
                    Field{"steps", &GradientNoise::steps},
                    Derived{"learning_efficiency", &GradientNoise::learning_efficiency},
                    Field{"reason", &GradientNoise::reason, if_any}};
}
inline const std::tuple kTestScoreFields{
    Field{"val_loss", &Score::loss, or_nan}, Field{"val_accuracy", &Score::accuracy, or_nan},
    Field{"val_samples", &Score::samples, if_any}, Field{"val_seconds", &Score::seconds, or_nan}};

/// One element of `epochs`.
Json epoch_json(const EpochRecord& epoch, const RunRecord& run);
/// The object `summary`.
Json summary_json(const RunRecord& run);

}  // namespace rueda
