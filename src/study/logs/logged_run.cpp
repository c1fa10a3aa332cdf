#include "base/error.hpp"
#include "base/json/json_fields.hpp"
#include "base/text.hpp"
#include "published_data.hpp"
#include "study/observation.hpp"

namespace rueda {
namespace {

constexpr double kLongest = 1e9;  // seconds: a longer time is none

double unit_seconds(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  return kUnknown;
}

Estimate median(const std::vector<LoggedEpoch>& epochs, Estimate LoggedEpoch::*what) {
  const std::vector<Estimate> all = values_of(epochs, what);
  return {median_of(values_of(all, &Estimate::value)), median_of(values_of(all, &Estimate::low)),
          median_of(values_of(all, &Estimate::high))};
}

/// Those after the first, or the only one.
std::vector<LoggedEpoch> steady(const std::vector<LoggedEpoch>& epochs) {
  std::vector<LoggedEpoch> later = epochs;
  std::erase_if(later, [](const LoggedEpoch& epoch) { return epoch.number == 1; });
  if (later.empty()) later.push_back(epochs.front());
  return later;
}

Estimate full_step(const Observation& seen) {
  const auto steps = double(seen.steps), batch = double(seen.global_batch);
  if (!(seen.images > 0) || batch == 0 || steps == 0) return {};
  if (seen.images == steps * batch) return seen.mean_step;
  if (steps < 2) return {};  // the only step is a partial one
  return {seen.epoch.value * batch / seen.images, seen.epoch.low / steps,
          seen.epoch.high / (steps - 1)};
}

Estimate duration(const JsonView& json) {
  const auto time = printed_duration(json.text());
  if (!time) json.refuse("is no duration such as \"14s\"");
  return *time;
}

/// "times" equal epochs one after the other.
void add_epochs(LoggedRun& run, const JsonView& json, std::size_t steps) {
  std::size_t times = 1;
  if (json.has("times")) times = json.count("times");
  LoggedEpoch epoch;
  epoch.steps = steps;
  epoch.printed = epoch.seconds = duration(json.at("seconds"));
  if (json.has("step"))
    epoch.seconds = narrowed(epoch.printed, duration(json.at("step")) * double(steps));
  for (std::size_t i = 0; i < times; ++i) {
    epoch.number = run.epochs.size() + 1;
    if (json.has("number")) epoch.number = json.count("number");
    run.epochs.push_back(epoch);
  }
}

/// Of the source that published a run.
const std::tuple kSourceFields{Field{"source", &LoggedRun::source, shown},
                               Field{"image_size", &LoggedRun::image_size},
                               Field{"images", &LoggedRun::images}};
const std::tuple kRunFields{
    Field{"model", &LoggedRun::model, shown}, Field{"variant", &LoggedRun::variant, shown, if_any},
    Field{"ranks", &LoggedRun::ranks}, Field{"global_batch", &LoggedRun::global_batch}};

LoggedRun run_of(const JsonView& json, const JsonView& source) {
  LoggedRun run;
  read_fields(source, run, kSourceFields);
  read_fields(json, run, kRunFields);
  run.processor = Processor::gpu;
  if (json.text("processor") == "cpu") run.processor = Processor::cpu;
  for (const JsonView& epoch : json.items("epochs")) add_epochs(run, epoch, json.count("steps"));
  return run;
}

}  // namespace

std::optional<Estimate> printed_duration(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789."));
  std::string_view rest = digits;
  const auto value = take_number<double>(rest);
  if (!value || !rest.empty()) return {};
  text.remove_prefix(digits.size());
  take(text, " ");
  const double unit = unit_seconds(text), seconds = *value * unit;
  if (!(seconds < kLongest)) return {};
  const std::size_t point = digits.find('.');
  std::size_t decimals = 0;
  if (point != digits.npos) decimals = digits.size() - point - 1;
  const double half = 0.5 * std::pow(10.0, -double(decimals)) * unit;
  return Estimate{seconds, std::max(seconds - half, 0.0), seconds + half};
}

Estimate narrowed(const Estimate& first, const Estimate& second) {
  const double low = std::max(first.low, second.low), high = std::min(first.high, second.high);
  if (!(low <= high)) return first;
  double value = first.value;
  if (second.high - second.low < first.high - first.low) value = second.value;
  return {std::clamp(value, low, high), low, high};
}

double images_of_epoch(double images, std::size_t steps, std::size_t global_batch) {
  if (steps == 0 || global_batch == 0) return images;
  const double whole = double(steps) * double(global_batch);
  const double over = images - whole;
  if (over <= 0 && over > -double(global_batch)) return images;
  if (over > 0 && over < double(global_batch)) return whole;
  return kUnknown;
}

Observation observe(const LoggedRun& run) {
  if (run.epochs.empty()) throw std::invalid_argument("no epoch was finished");
  const auto later = steady(run.epochs);
  Observation seen;
  static_cast<Subject&>(seen) = static_cast<const Subject&>(run);  // of a run, its subject alone
  seen.ranks = run.ranks;
  if (run.global_batch % run.ranks == 0) seen.rank_batch = run.global_batch / run.ranks;
  seen.global_batch = run.global_batch;
  seen.steps = later.front().steps;
  seen.images = images_of_epoch(run.images, seen.steps, run.global_batch);
  seen.epoch = median(later, &LoggedEpoch::seconds);
  seen.printed_epoch = median(later, &LoggedEpoch::printed);
  if (run.epochs.front().number == 1) seen.first_epoch = run.epochs.front().seconds;
  if (seen.steps > 0) seen.mean_step = seen.epoch * (1 / double(seen.steps));
  seen.full_step = full_step(seen);
  seen.includes_warm_up = later.front().number == 1;
  return seen;
}

Observations published(const std::string& which) {
  require(which == "book" || which == "nyu" || which == "all",
          "no published runs are called \"" + printable(which) + "\"; there are book, nyu and all");
  const InputFile file{"", "jobs/reader/handin/published.json",
                       "build the program from an unchanged file"};
  const auto json = JsonView::Json::parse(kPublishedData);
  Observations all;
  for (const JsonView& source : JsonView(json, file).items("sources")) {
    if (which != "all" && which != source.text("set")) continue;
    for (const JsonView& run : source.items("runs")) all.push_back(observe(run_of(run, source)));
  }
  return all;
}

}  // namespace rueda
