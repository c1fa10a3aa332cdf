#include "study/logs/keras_line.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"

namespace rueda::keras {
namespace {

constexpr std::string_view kThickBar = "\xE2\x94\x81";  // Keras 3 draws its bar with U+2501

// A line is read from left to right: each of these takes from its front what fits.

void skip(std::string_view& text, std::string_view any_of) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(any_of), text.size()));
}

/// Everything before the first of these characters.
std::string_view take_until(std::string_view& text, std::string_view any_of) noexcept {
  const std::string_view taken = text.substr(0, text.find_first_of(any_of));
  text.remove_prefix(taken.size());
  return taken;
}

bool begins_word(std::string_view text) {
  return !text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) || text[0] == '_');
}

/// "[====]" or a thick line; false if there is none.
bool take_bar(std::string_view& line) {
  if (take(line, "[")) {
    skip(line, "=>.");
    return take(line, "]");
  }
  bool any = false;
  while (take(line, kThickBar)) any = true;
  return any;
}

/// The figures of a line so far.
struct Figures {
  std::optional<Estimate> seconds, per_step, per_sample;
};

/// "14s", "544ms/step" or "8.7 s": stored by its unit of work. False if it is no time.
bool take_time(std::string_view& line, Figures& figures) {
  std::string_view rest = line;
  skip(rest, "0123456789.");
  take(rest, " ");
  while (begins_word(rest)) rest.remove_prefix(1);
  const auto time = printed_duration(line.substr(0, line.size() - rest.size()));
  if (!time) return false;
  if (take(rest, "/step"))
    figures.per_step = time;
  else if (take(rest, "/sample"))
    figures.per_sample = time;
  else if (!take(rest, "/epoch") && !figures.seconds)
    figures.seconds = time;
  line = rest;
  return true;
}

/// A bar's time per step leaves out the first step. It bounds the epoch from
/// below, and is its time if the first step was like the others.
Estimate with_bar(const Estimate& seconds, const Estimate& per_step, double steps) {
  const double low = std::max(seconds.low, std::min(seconds.high, per_step.low * (steps - 1)));
  return {std::clamp(per_step.value * steps, low, seconds.high), low, seconds.high};
}

Estimate combined(const Figures& figures, double count, bool bar) {
  const Estimate& seconds = *figures.seconds;
  if (figures.per_sample) return narrowed(seconds, *figures.per_sample * count);
  if (!figures.per_step) return seconds;
  if (bar) return with_bar(seconds, *figures.per_step, count);
  return narrowed(seconds, *figures.per_step * count);
}

std::optional<RunHeader> model_header(std::string_view line) {
  const bool quoted = take(line, ": \"");
  if (!quoted && !take(line, " ")) return {};
  RunHeader header{.model = std::string(take_until(line, quoted ? "\"" : " "))};
  skip(line, " ");
  const auto gpus = quoted ? std::nullopt : take_count(line);  // "4 GPUs"
  skip(line, " ");
  if (gpus && line.starts_with("GPU")) header.ranks = *gpus;
  if (header.model.empty() || (!quoted && header.ranks == 0)) return {};  // "Model saved"
  return header;
}

/// "Batch_size", "batch size" and "BATCH-SIZE" alike.
std::string plain(std::string_view key) {
  std::string result;
  for (const unsigned char c : key) result += char(std::tolower(c));
  for (char& c : result)
    if (c == ' ' || c == '-') c = '_';
  return result;
}

}  // namespace

std::optional<std::size_t> take_count(std::string_view& text) noexcept {
  constexpr std::size_t kMost = 1'000'000'000;
  const std::string_view before = text;
  const auto count = take_number(text);
  if (!count || *count < kMost) return count;
  text = before;
  return {};
}

std::optional<EpochMark> find_epoch_mark(std::string_view line) {
  constexpr std::string_view kWord = "Epoch";
  for (std::size_t at = line.find(kWord); at != line.npos; at = line.find(kWord, at + 1)) {
    std::string_view rest = line.substr(at + kWord.size());
    take(rest, ":");
    skip(rest, " ");
    const auto number = take_count(rest);
    if (!number || *number == 0 || !take(rest, "/") || !take_count(rest)) continue;
    if (!begins_word(rest)) return EpochMark{*number, at, line.size() - rest.size()};
  }
  return {};
}

std::optional<RunHeader> parse_run_header(std::string_view line) {
  skip(line, " ");
  if (take(line, "Model")) return model_header(line);
  const std::string key = plain(take_until(line, ":="));
  skip(line, ":= ");
  const auto value = take_count(line);
  skip(line, " ");
  if (!value || *value == 0 || !line.empty()) return {};
  if (key == "batch_size" || key == "global_batch_size") return RunHeader{.global_batch = *value};
  if (key == "num_replicas" || key == "num_replicas_in_sync" || key == "number_of_devices")
    return RunHeader{.ranks = *value};
  return {};
}

std::optional<LoggedEpoch> parse_finished_line(std::string_view line) {
  skip(line, " -");
  const auto done = take_count(line);
  if (!done || !take(line, "/") || take_count(line) != done || *done == 0) return {};
  if (!line.starts_with(' ')) return {};
  skip(line, " ");
  const bool bar = take_bar(line);
  skip(line, " -");
  LoggedEpoch epoch;
  Figures figures;
  if (!take_time(line, figures) || !figures.seconds) return {};
  // Fields are separated by " - "; one may hold several times. Metrics are not
  // read, but those of a validation ("val_loss: 2.1") say that its time is
  // included.
  while (!line.empty()) {
    skip(line, " -");
    if (take_time(line, figures)) continue;
    epoch.validates = epoch.validates || line.starts_with("val_");
    line.remove_prefix(std::min(line.find(" - "), line.size()));
  }
  const auto count = double(*done);
  // Keras 3 prints the remaining time ("0s"), also at the last step, at the
  // position of the time of a finished epoch.
  if (figures.per_step && figures.seconds->high < figures.per_step->low * (count - 1)) return {};
  (figures.per_sample ? epoch.samples : epoch.steps) = *done;
  epoch.printed = *figures.seconds;
  epoch.seconds = combined(figures, count, bar);
  return epoch;
}

}  // namespace rueda::keras
