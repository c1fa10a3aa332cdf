#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "record/aggregation.hpp"
#include "record/json_parts.hpp"
#include "record/run_figures.hpp"
#include "record/run_json.hpp"

namespace rueda {
namespace {

/// A checkpoint has these of every epoch, where a run.json of older programs may not.
constexpr std::array kNeeded = {"epoch",         "resumed_at_step",   "val_loss",
                                "learning_rate", "images_per_second", "parameter_hash"};

/// The sums of an epoch's steps have this name in a history, and are not in run.json.
constexpr const char* kHistorySums = "sums";

EpochRecord epoch_record(const JsonView& j) {
  for (const char* name : kNeeded) j.at(name);
  if (!j.has("world_size")) j.at("ranks");  // of an older version
  EpochRecord e;
  read_epoch(j, e);
  if (j.has(kHistorySums)) {
    read_value(j.at(kHistorySums), e.sums);
    for (const KindSums* sums : {&e.sums.full, &e.sums.partial})
      require(sums->ranks.empty() || sums->ranks.size() == e.ranks, "its sums are of other ranks");
  }
  e.released = true;
  return e;
}

/// An element of the history's `epochs` without its sums, on one line: that of run.json.
SharedText epoch_text(const EpochRecord& e, const RunRecord& run) {
  std::string text = text_of(epoch_json(e, run));
  text.pop_back();  // the brace
  return share(std::move(text));
}

/// The end of an element: the sums from which a later process makes the figures of several
/// epochs, where the epoch has them.
SharedText sums_text(const EpochRecord& e, const RunRecord& run) {
  const EpochSums sums = sums_of(e, run.global_batch);
  if (e.released && sums.full.ranks.empty() && sums.partial.ranks.empty()) return share("}");
  return share(fmt::format(",\"{}\":{}}}", kHistorySums, text_of(json_of(sums))));
}

// A history begins with these fields. Older versions wrote no more than the first two.
const std::tuple kBeginFields{Field{"started_at", &RunRecord::started_at},
                              Field{"resumptions", &RunRecord::resumptions}};
constexpr const char* kTotalSeconds = "total_seconds";
const std::tuple kPastFields{Field{"checkpoints", &RunRecord::checkpoints},
                             Field{"audit", &RunRecord::audit},
                             Field{kTotalSeconds, &RunRecord::total_seconds, or_nan}};
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

void restore_head(RunRecord& run, std::string_view line) {
  require(line.ends_with(kBeforeEpochs), "it is no history of epochs");
  const Json json = parse_json(std::string(line).append(kBehindEpochs));
  const JsonView j(json);
  read_fields(j, run, kBeginFields);
  run.total_seconds = NAN;
  if (json.contains(kTotalSeconds)) read_fields(j, run, kPastFields);
  run.earlier_seconds = run.total_seconds;
}

}  // namespace

/// Limits on JSON are limits of a line, that is of an epoch, not of the whole history.
TextPieces HistoryWriter::text(const RunRecord& run) {
  Json begin = fields_json(run, kBeginFields);
  put_fields(begin, run, kPastFields);
  std::string head = "{";
  for (const auto& [name, value] : begin.items())
    head += text_of(Json(name)) + ":" + text_of(value) + ",";
  TextPieces pieces = {share(head.append(kBeforeEpochs) + "\n")};
  const SharedText comma = share(",\n");
  while (lines_.size() < run.epochs.size())
    lines_.push_back(epoch_text(run.epochs[lines_.size()], run));
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (i > 0) pieces.push_back(comma);
    pieces.push_back(lines_[i]);
    pieces.push_back(sums_text(run.epochs[i], run));
  }
  if (!run.epochs.empty()) pieces.push_back(share("\n"));
  pieces.push_back(share(std::string(kBehindEpochs) + "\n"));
  return pieces;
}

TextPieces history_json(const RunRecord& run) { return HistoryWriter().text(run); }

void restore_history(RunRecord& run, const std::string& text, const std::string& what) {
  try {
    std::string_view rest = text;
    restore_head(run, take_line(rest));
    for (std::string_view line; (line = take_line(rest)) != kBehindEpochs;) {
      if (line.empty()) continue;
      if (line.ends_with(',')) line.remove_suffix(1);
      const Json epoch = parse_json(line);
      run.epochs.push_back(epoch_record(JsonView(epoch)));
    }
    if (!rest.empty()) throw InputError("it goes on after its end");
  } catch (const InputError& error) {
    throw InputError(what + ": " + error.what());
  }
}

}  // namespace rueda
