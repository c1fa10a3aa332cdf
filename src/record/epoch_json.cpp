#include "record/json_parts.hpp"
#include "record/run_fields.hpp"
#include "record/run_json.hpp"

namespace rueda {
namespace {

/// The scores of a test that there was not: null.
Json test_json(const EpochFacts& e) {
  Json score = fields_json(e.test.value_or(Score()), kTestScoreFields);
  if (!e.test) {
    for (Json& value : score) value = nullptr;
  }
  return score;
}

}  // namespace

Json epoch_json(const EpochRecord& e, const RunRecord& run) {
  if (e.written) {
    Json j = Json::parse(*e.written);
    j.erase(kHistorySums);
    return j;
  }
  const EpochFigures figures = epoch_figures(e, run);
  Json j = fields_json(figures, kEpochFields);
  j.update(test_json(e));
  put_fields(j, figures, kEpochTimeFields);
  j["energy"]["per_rank"] = values_of(e.rank_energy, &Energy::gpus);
  return j;
}

EpochFigures read_epoch(const JsonView& j) {
  EpochFigures e;
  read_fields(j, e, kEpochFields);
  if (j.has("val_loss")) read_fields(j, e.test.emplace(), kTestScoreFields);
  read_fields(j, e, kEpochTimeFields);
  e.ranks = e.of_ranks.size();
  e.train.seconds = e.efficiency.seconds = e.seconds;
  e.energy.images = double(e.train.samples);
  return e;
}

Json summary_json(const RunRecord& run) { return fields_json(summary_of(run), kSummaryFields); }

RunSummary read_summary(const JsonView& j) {
  RunSummary summary;
  read_fields(j, summary, kSummaryFields);
  summary.efficiency.seconds = summary.epoch_seconds;
  return summary;
}

}  // namespace rueda
