#include "published_data.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/study/logs.hpp"
#include "study/json_view.hpp"

namespace rueda {
namespace {

Estimate duration(const JsonView& json) {
  const auto time = printed_duration(json.text());
  if (!time) json.refuse("is no duration such as \"14s\"");
  return *time;
}

/// "times" equal epochs one after the other.
void add_epochs(LoggedRun& run, const JsonView& json, std::size_t steps) {
  const std::size_t times = json.has("times") ? json.count("times") : 1;
  LoggedEpoch epoch;
  epoch.steps = steps;
  epoch.printed = epoch.seconds = duration(json.at("seconds"));
  if (json.has("step")) {
    epoch.seconds = narrowed(epoch.printed, duration(json.at("step")) * double(steps));
  }
  for (std::size_t i = 0; i < times; ++i) {
    epoch.number = json.has("number") ? json.count("number") : run.epochs.size() + 1;
    run.epochs.push_back(epoch);
  }
}

LoggedRun run_of(const JsonView& json, const JsonView& source) {
  LoggedRun run;
  run.source = source.text("source");
  run.model = json.text("model");
  run.variant = json.text_if_any("variant");
  run.processor = json.text("processor") == "cpu" ? Processor::cpu : Processor::gpu;
  run.ranks = json.count("ranks");
  run.global_batch = json.count("global_batch");
  run.image_size = source.count("image_size");
  run.images = source.number("images");
  for (const JsonView& epoch : json.items("epochs")) add_epochs(run, epoch, json.count("steps"));
  return run;
}

}  // namespace

std::vector<Observation> published(const std::string& which) {
  if (which != "book" && which != "nyu" && which != "all") {
    throw InputError("no published runs are called \"" + printable(which) +
                     "\"; there are book, nyu and all");
  }
  const InputFile file{"", "docs/data/published.json", "build the program from an unchanged file"};
  const auto json = JsonView::Json::parse(kPublishedData);
  std::vector<Observation> all;
  for (const JsonView& source : JsonView(json, file).items("sources")) {
    if (which != "all" && which != source.text("set")) continue;
    for (const JsonView& run : source.items("runs")) all.push_back(observe(run_of(run, source)));
  }
  return all;
}

}  // namespace rueda
