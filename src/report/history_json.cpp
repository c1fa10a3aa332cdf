#include "../core/bounded_json.hpp"
#include "json_parts.hpp"
#include "rueda/core/error.hpp"
#include "rueda/report/run_json.hpp"

namespace rueda {
namespace {

Score train_score(const Json& j, double seconds) {
  return {.loss = j.at("loss"),
          .accuracy = j.at("accuracy"),
          .samples = whole_number(j, "samples"),
          .seconds = seconds};
}

std::optional<Score> test_score(const Json& j) {
  if (j.at("val_loss").is_null()) return std::nullopt;
  return Score{.loss = j.at("val_loss"),
               .accuracy = j.at("val_accuracy"),
               .samples = whole_number(j, "val_samples"),
               .seconds = j.at("val_seconds")};
}

EpochRecord epoch_record(const Json& j) {
  EpochRecord e;
  e.epoch = whole_number(j, "epoch");
  e.steps = whole_number(j, "steps");
  e.ranks = j.at("ranks").size();
  e.seconds = j.at("seconds");
  e.train = train_score(j, e.seconds);
  e.test = test_score(j);
  e.learning_rate = j.at("learning_rate");
  e.images_per_second = j.at("images_per_second");
  e.parameter_hash = j.at("parameter_hash");
  if (const Json& step = j.at("resumed_at_step"); !step.is_null())
    e.resumed_at_step = whole_number(j, "resumed_at_step");
  e.written = share(text_of(j));
  return e;
}

Resumption resumption(const Json& j) {
  return {.at = j.at("at"),
          .checkpoint = j.at("checkpoint"),
          .epochs = whole_number(j, "epochs"),
          .steps = whole_number(j, "steps"),
          .ranks = whole_number(j, "world_size")};
}

}  // namespace

Json resumptions_json(const RunRecord& run) {
  Json all = Json::array();
  for (const Resumption& r : run.resumptions) {
    Json j;
    j["at"] = r.at;
    j["checkpoint"] = r.checkpoint;
    j["epochs"] = r.epochs;
    j["steps"] = r.steps;
    j["world_size"] = r.ranks;
    all.push_back(j);
  }
  return all;
}

/// Epochs stand on lines of their own, as the run holds them: a checkpoint each epoch makes no copy
/// of all epochs before.
TextPieces history_json(const RunRecord& run) {
  Json j;
  j["started_at"] = run.started_at;
  j["resumptions"] = resumptions_json(run);
  std::string head = text_of(j);
  head.back() = ',';  // instead of the brace
  TextPieces pieces = {share(head + "\"epochs\":[\n")};
  const SharedText comma = share(",\n");
  for (const EpochRecord& e : run.epochs) {
    if (pieces.size() > 1) pieces.push_back(comma);
    pieces.push_back(epoch_text(e, run));
  }
  pieces.push_back(share("\n]}\n"));
  return pieces;
}

void restore_history(RunRecord& run, const std::string& text, const std::string& what) {
  if (const std::string fault = fault_of_json(text); !fault.empty())
    throw InputError(what + ": " + fault);
  try {
    const Json j = Json::parse(text);
    run.started_at = j.at("started_at");
    for (const Json& r : j.at("resumptions")) run.resumptions.push_back(resumption(r));
    for (const Json& e : j.at("epochs")) run.epochs.push_back(epoch_record(e));
  } catch (const Json::exception& error) {
    throw InputError(what + ": " + error.what());
  } catch (const InputError& error) {
    throw InputError(what + ": " + error.what());
  }
}

}  // namespace rueda
