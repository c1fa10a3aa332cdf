#include "keras_line.hpp"

#include <algorithm>
#include <cctype>

namespace rueda {
namespace {

constexpr std::string_view kThickBar = "\xE2\x94\x81";  // Keras 3 draws its bar with U+2501

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The figures of a line so far.
struct Figures {
  std::optional<Estimate> seconds, per_step, per_sample;
};

/// "[====]" or a thick line; false if there is none.
bool take_bar(TextCursor& cursor) {
  if (cursor.take("[")) {
    cursor.skip("=>.");
    return cursor.take("]");
  }
  bool any = false;
  while (cursor.take(kThickBar)) any = true;
  return any;
}

/// "14s", "544ms/step" or "8.7 s": stored by its unit of work. False if it is no time.
bool take_time(TextCursor& cursor, Figures& figures) {
  TextCursor ahead = cursor;
  const std::string_view text = ahead.rest();
  ahead.skip("0123456789.");
  ahead.take(" ");
  while (!ahead.done() && is_word(ahead.rest().front())) ahead.take(ahead.rest().substr(0, 1));
  const auto time = printed_duration(text.substr(0, text.size() - ahead.rest().size()));
  if (!time) return false;
  if (ahead.take("/step"))
    figures.per_step = time;
  else if (ahead.take("/sample"))
    figures.per_sample = time;
  else if (!ahead.take("/epoch") && !figures.seconds)
    figures.seconds = time;
  cursor = ahead;
  return true;
}

/// Fields are separated by " - "; one may hold several times. Metrics are not read, but those of a
/// validation ("val_loss: 2.1") say that its time is included.
void read_fields(TextCursor cursor, Figures& figures, LoggedEpoch& epoch) {
  while (!cursor.done()) {
    cursor.skip(" -");
    if (take_time(cursor, figures)) continue;
    const std::string_view field = cursor.rest().substr(0, cursor.rest().find(" - "));
    epoch.validates = epoch.validates || field.starts_with("val_");
    cursor.take(field);
  }
}

/// A bar's time per step leaves out the first step. It bounds the epoch from below, and is its time
/// if the first step was like the others.
Estimate with_bar(const Estimate& seconds, const Estimate& per_step, double steps) {
  const double low = std::max(seconds.low, std::min(seconds.high, per_step.low * (steps - 1)));
  return {std::clamp(per_step.value * steps, low, seconds.high), low, seconds.high};
}

Estimate combined(const Figures& figures, double count, bool bar) {
  const Estimate& seconds = *figures.seconds;
  if (figures.per_sample) return narrowed(seconds, *figures.per_sample * count);
  if (!figures.per_step) return seconds;
  return bar ? with_bar(seconds, *figures.per_step, count)
             : narrowed(seconds, *figures.per_step * count);
}

/// Keras 3 prints the remaining time ("0s"), also at the last step, at the position of the time of
/// a finished epoch.
bool is_time_left(const Figures& figures, double steps) {
  return figures.per_step && figures.seconds->high < figures.per_step->low * (steps - 1);
}

/// "4 GPUs"
std::size_t gpus(TextCursor cursor) {
  cursor.skip(" ");
  const auto number = cursor.number();
  cursor.skip(" ");
  return number && cursor.rest().starts_with("GPU") ? *number : 0;
}

std::optional<RunHeader> model_header(TextCursor cursor) {
  const bool quoted = cursor.take(": \"");
  if (!quoted && !cursor.take(" ")) return {};
  const std::string_view name = cursor.take_until(quoted ? "\"" : " ");
  const std::size_t ranks = quoted ? 0 : gpus(cursor);
  if (name.empty() || (!quoted && ranks == 0)) return {};  // "Model saved"
  return RunHeader{std::string(name), ranks, 0};
}

/// "Batch_size", "batch size" and "BATCH-SIZE" alike.
std::string plain(std::string_view key) {
  std::string result;
  for (const char c : key) {
    const int lower = std::tolower(static_cast<unsigned char>(c));
    result += c == ' ' || c == '-' ? '_' : static_cast<char>(lower);
  }
  return result;
}

}  // namespace

std::optional<EpochMark> find_epoch_mark(std::string_view line, std::size_t from) {
  constexpr std::string_view kWord = "Epoch";
  for (std::size_t at = line.find(kWord, from); at != std::string_view::npos;
       at = line.find(kWord, at + 1)) {
    TextCursor cursor(line.substr(at));
    cursor.take(kWord);
    cursor.take(":");
    cursor.skip(" ");
    const auto number = cursor.number();
    if (!number || *number == 0 || !cursor.take("/") || !cursor.number()) continue;
    if (!cursor.done() && is_word(cursor.rest().front())) continue;
    return EpochMark{.number = *number, .begin = at, .end = line.size() - cursor.rest().size()};
  }
  return {};
}

std::optional<RunHeader> parse_run_header(std::string_view line) {
  TextCursor cursor(line);
  cursor.skip(" ");
  if (cursor.take("Model")) return model_header(cursor);
  const std::string key = plain(cursor.take_until(":="));
  cursor.skip(":= ");
  const auto value = cursor.number();
  cursor.skip(" ");
  if (!value || *value == 0 || !cursor.done()) return {};
  if (key == "batch_size" || key == "global_batch_size") return RunHeader{"", 0, *value};
  if (key == "num_replicas" || key == "num_replicas_in_sync" || key == "number_of_devices")
    return RunHeader{"", *value, 0};
  return {};
}

std::optional<FinishedLine> parse_finished_line(std::string_view line) {
  TextCursor cursor(line);
  cursor.skip(" -");
  const auto done = cursor.number();
  if (!done || !cursor.take("/") || cursor.number() != done || *done == 0) return {};
  if (!cursor.rest().starts_with(' ')) return {};
  cursor.skip(" ");
  const bool bar = take_bar(cursor);
  cursor.skip(" -");
  FinishedLine result;
  Figures figures;
  if (!take_time(cursor, figures) || !figures.seconds) return {};
  read_fields(cursor, figures, result.epoch);
  const auto count = double(*done);
  if (is_time_left(figures, count)) return {};
  if (figures.per_sample)
    result.samples = count;
  else
    result.epoch.steps = *done;
  result.epoch.printed = *figures.seconds;
  result.epoch.seconds = combined(figures, count, bar);
  return result;
}

}  // namespace rueda
