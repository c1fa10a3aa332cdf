#pragma once

#include "record/evaluation_record.hpp"
#include "study/learning.hpp"

namespace rueda {

inline auto fields_of(const Curve&) {
  return std::tuple{Field{"known", &Curve::known}, Field{"epochs", &Curve::epochs},
                    Field{"values", &Curve::values}};
}
inline auto fields_of(const Learning&) {
  return std::tuple{Field{"epochs", &Learning::epochs}, Field{"loss", &Learning::loss},
                    Field{"accuracy", &Learning::accuracy}, Field{"val_loss", &Learning::val_loss},
                    Field{"val_accuracy", &Learning::val_accuracy}};
}

inline Json json_of(const EvaluationRecord& evaluation) {
  Json j = {{"weights", evaluation.weights}};
  put_fields(j, evaluation.score, kTestScoreFields);
  put_fields(j, evaluation, kAnswerFields);
  return j;
}

/// What tells the runs of a study apart.
inline std::string run_path(const RunResult& run) { return run.file.parent_path().string(); }

/// One of `runs` in report.json.
inline Json learned_json(const RunResult& run) {
  Json j = {{"path", run_path(run)}, {"name", folder_name(run.file)}, {"model", model_of(run)}};
  j["learning"] = fields_json(learning_of(run), fields_of(Learning()));
  j["evaluation"] = json_of(run.evaluation);
  return j;
}

}  // namespace rueda
