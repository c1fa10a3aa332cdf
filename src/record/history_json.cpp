#include <string_view>

#include "json_parts.hpp"
#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

EpochRecord epoch_record(const Json& j) {
  EpochRecord e;
  read_fields(j, e, kEpochFields);
  read_fields(j, e, kEpochTimeFields);
  read_fields(j, e, kEpochHashFields);
  read_fields(j, e.train, kTrainScoreFields);
  e.train.seconds = e.seconds;
  if (!j.at("val_loss").is_null()) read_fields(j, e.test.emplace(), kTestScoreFields);
  e.ranks = j.at("ranks").size();
  e.written = share(text_of(j));
  return e;
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
  for (const Json& r : j.at("resumptions"))
    read_fields(r, run.resumptions.emplace_back(), kResumptionFields);
}

}  // namespace

/// Epochs stand on lines of their own, as the run holds them: a checkpoint each epoch makes no copy
/// of all epochs before, and limits on JSON are limits of an epoch, not of the whole history.
TextPieces history_json(const RunRecord& run) {
  Json j;
  j["started_at"] = run.started_at;
  j["resumptions"] = list_json(run.resumptions, kResumptionFields);
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
