#include <string_view>

#include "core/bounded_json.hpp"
#include "json_parts.hpp"
#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

Score train_score(const Json& j, double seconds) {
  return {.loss = number_or_nan(j, "loss"),  // none where nothing is computed
          .accuracy = number_or_nan(j, "accuracy"),
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

Json parsed(std::string_view text) {
  if (const std::string fault = fault_of_json(text); !fault.empty()) throw InputError(fault);
  return Json::parse(text);
}

void restore_head(RunRecord& run, std::string_view line) {
  if (!line.ends_with(kBeforeEpochs)) throw InputError("it is no history of epochs");
  const Json j = parsed(std::string(line).append(kBehindEpochs));
  run.started_at = j.at("started_at");
  for (const Json& r : j.at("resumptions")) run.resumptions.push_back(resumption(r));
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
/// of all epochs before, and limits on JSON are limits of an epoch, not of the whole history.
TextPieces history_json(const RunRecord& run) {
  Json j;
  j["started_at"] = run.started_at;
  j["resumptions"] = resumptions_json(run);
  std::string head = text_of(j);
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
      run.epochs.push_back(epoch_record(parsed(line)));
    }
  } catch (const Json::exception& error) {
    throw InputError(what + ": " + error.what());
  } catch (const InputError& error) {
    throw InputError(what + ": " + error.what());
  }
}

}  // namespace rueda
