#include "train_options.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "option_helpers.hpp"
#include "recipe.hpp"
#include "rueda/core/error.hpp"
#include "rueda/train/options.hpp"
#include "run/resume_point.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const TrainOption& option) { return std::string("--") + option.name; }

void add_option(CLI::App& app, const TrainOption& option, TrainConfig& config) {
  app.option_defaults()->group(option.group);
  if (const auto* flag = std::get_if<Flag>(&option.kind)) {
    app.add_flag(name_of(option), config.*flag->member, option.help);
    return;
  }
  const auto* words = std::get_if<Words>(&option.kind);
  add_parsed(app, name_of(option),
             words != nullptr ? joined(words->words, "|") : option.placeholder, option.help,
             to_string(value_of(option, config)),
             [&](const std::string& text) { set_option(option, config, text); });
}

std::optional<Manifest> first_readable(const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    try {
      return read_manifest(candidate);
    } catch (const InputError&) {
      // find_resume_point reports it.
    }
  }
  return std::nullopt;
}

/// Of the two options for the batch, the one that did not decide.
bool is_idle(const Json& options, const std::string& name) {
  const Json global = options.value("global-batch", Json(0));
  if (name == "global-batch") return global == 0;
  return name == "batch-per-rank" && global != 0;
}

}  // namespace

void add_train_options(CLI::App& app, TrainConfig& config) {
  for (const TrainOption& option : train_options()) add_option(app, option, config);
  app.get_option("--batch-per-rank")->excludes("--global-batch");
}

void apply_resumed_options(CLI::App& command, const TrainConfig& config) {
  const auto manifest = first_readable(resume_candidates(config));
  if (!manifest) return;
  const Json options = Json::parse(manifest->config);
  for (const TrainOption& option : train_options()) {
    const auto value = options.find(option.name);
    if (option.resume == Resume::own || value == options.end() || value->is_null()) continue;
    if (is_idle(options, option.name)) continue;
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    set_if_open(*command.get_option(name_of(option)), text, "--resume " + config.resume);
  }
}

void note_given(const CLI::App& command, TrainConfig& config) {
  for (const TrainOption& option : train_options()) {
    if (command.get_option(name_of(option))->count() > 0) config.given.insert(option.name);
  }
}

}  // namespace rueda
