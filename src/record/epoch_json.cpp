#include "record/json_parts.hpp"
#include "record/run_fields.hpp"
#include "record/run_json.hpp"

namespace rueda {
namespace {

/// The scores are null where there was no test.
Json test_json(const EpochRecord& e) {
  Json score = fields_json(e.test.value_or(Score()), kTestScoreFields);
  if (!e.test) {
    for (Json& value : score) value = nullptr;
  }
  return score;
}

Json figures_json(const EpochRecord& e) {
  Json j = fields_json(e, kEpochFields);
  j.update(test_json(e));
  put_fields(j, e, kEpochTimeFields);
  if (e.ranks > kMostRanksInJson) {
    j.erase("batch_per_rank");
    j.erase("ranks");
  } else {
    j["energy"]["per_rank"] = values_of(e.rank_energy, &Energy::gpus);
  }
  return j;
}

/// The energy of each rank as `figures_json` wrote it; none where the file lacks it.
std::vector<Energy> read_rank_energy(const JsonView& energy) {
  std::vector<Energy> ranks;
  for (const JsonView& joules : energy.items("per_rank")) {
    Energy& rank = ranks.emplace_back();
    if (!joules.is_null()) rank.gpus = joules.number();
  }
  return ranks;
}

}  // namespace

Json epoch_json(const EpochRecord& e, const RunRecord& run) {
  if (e.released) return figures_json(e);
  EpochRecord released = e;
  release_steps(released, run);
  return figures_json(released);
}

void read_epoch(const JsonView& j, EpochRecord& e) {
  read_fields(j, e, kEpochFields);
  if (j.has("val_loss")) read_fields(j, e.test.emplace(), kTestScoreFields);
  read_fields(j, e, kEpochTimeFields);
  if (!j.has("world_size")) e.ranks = e.of_ranks.size();  // of an older version
  e.train.seconds = e.efficiency.seconds = e.seconds;
  e.energy.images = double(e.train.samples);
  e.rank_energy = read_rank_energy(j.part("energy"));
}

Json summary_json(const RunRecord& run) { return fields_json(summary_of(run), kSummaryFields); }

}  // namespace rueda
