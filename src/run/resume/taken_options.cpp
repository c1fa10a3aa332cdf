#include "run/resume/taken_options.hpp"

#include <filesystem>
#include <system_error>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "record/recorded_path.hpp"
#include "train/options.hpp"
#include "train/options/removed_options.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

/// One of the two options for the batch where the other was given.
bool is_idle(const TrainConfig& config, const std::string& name) {
  if (name == "global-batch") return config.given.contains("batch-per-rank");
  return name == "batch-per-rank" && config.given.contains("global-batch");
}

/// Whether this run writes the file that the option names.
bool is_written(const TrainOption& option, const TrainConfig& config) {
  const auto* text = std::get_if<Text>(&option.kind);
  return text != nullptr && text->is_written != nullptr && text->is_written(config);
}

/// Whether the user decided; a word that stands for a measurement leaves it to the earlier one.
bool is_given(const TrainOption& option, const TrainConfig& config) {
  if (!config.given.contains(option.name)) return false;
  const bool by_word = std::holds_alternative<std::string>(value_of(option, config));
  return !(option.uses.word_is_measured && by_word);
}

/// Throws InputError where the run used what was removed since.
void refuse_removed(const EarlierOptions& earlier) {
  for (const auto& [name, value] : earlier.options.items()) {
    if (value.is_null() || value == Json(false)) continue;
    std::string removal = removal_of("train", "--" + name);
    if (value.is_string() && removal.empty())
      removal = removal_of("train", "--" + name + ' ' + value.get<std::string>());
    if (removal.empty()) continue;
    throw InputError(fmt::format(
        "{}: {}. This run used it: finish it with the version that began it, or begin anew",
        earlier.source, removal));
  }
}

/// The path of an option, for use from here. Throws InputError where data are gone.
std::string path_from_here(const std::string& name, const std::string& path,
                           const EarlierOptions& earlier) {
  if (name == "data" && path == TrainConfig().data.path) return path;  // drawn
  const std::string found = recorded_path(path, earlier.folder);
  std::error_code none;
  if (!train_option(name).uses.path_must_exist || fs::exists(found, none)) return found;
  const std::string said =
      fmt::format("{}: that run recorded --{} {}", earlier.source, name, printable(path));
  const std::string remedy = fmt::format(": give --{}", name);
  if (fs::path(path).is_absolute())
    throw InputError(said + ", and nothing is there any more" + remedy);
  if (earlier.folder.empty()) return found;  // an older version
  throw InputError(fmt::format("{}, below {}, and it is neither there nor here, below {}{}", said,
                               printable(earlier.folder), printable(working_directory()), remedy));
}

void take_option(TrainConfig& config, const TrainOption& option, const Json& value,
                 const EarlierOptions& earlier) {
  std::string text = value.dump();
  if (value.is_string()) text = value.get<std::string>();
  const auto path = path_begin(option, text);
  if (path && value.is_string())
    text.replace(*path, text.npos, path_from_here(option.name, text.substr(*path), earlier));
  try {
    set_option(option, config, text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: --{}: {}", earlier.source, option.name, error.what()));
  }
}

bool may_take(const TrainOption& option, TakenBy by) {
  return option.resume != Resume::own && (by == TakenBy::training || option.uses.evaluates);
}

std::string encode(const TrainConfig& config) {
  Json texts = Json::object();
  for (const TrainOption& option : train_options())
    texts[option.name] = to_string(value_of(option, config));
  const auto bytes = Json::to_cbor(texts);  // a path need not be UTF-8
  return {bytes.begin(), bytes.end()};
}

void decode(const std::string& text, TrainConfig& config) {
  const Json texts = Json::from_cbor(text);
  for (const TrainOption& option : train_options()) {
    const std::string value = texts.at(option.name);
    if (value != to_string(value_of(option, config))) set_option(option, config, value);
  }
}

}  // namespace

void take_options(TrainConfig& config, const EarlierOptions& earlier, TakenBy by) {
  if (by == TakenBy::training) refuse_removed(earlier);
  for (const TrainOption& option : train_options()) {
    const auto value = earlier.options.find(option.name);
    if (!may_take(option, by) || value == earlier.options.end() || value->is_null()) continue;
    if (is_given(option, config) || is_idle(config, option.name)) continue;
    if (!is_written(option, config)) take_option(config, option, *value, earlier);
  }
}

void take_options(TrainConfig& config, const ResumePoint& point, const CheckpointPlace& place,
                  TakenBy by) {
  take_options(config, {Json::parse(point.manifest.config), place.words(), point.manifest.folder},
               by);
}

ResumePoint complete_by_checkpoint(TrainConfig& config) {
  ResumePoint point;
  if (!config.checkpoints.resume.empty()) {
    const CheckpointPlace place = resumed_place(config);
    point = latest_checkpoint(place);
    if (!point.checkpoint.empty()) take_options(config, point, place, TakenBy::training);
  }
  validate(config);
  return point;
}

void settle_on_rank_0(RankGroup& world, TrainConfig& config, const std::function<void()>& work) {
  const std::string text = text_of_rank_0(world, [&] {
    work();
    return encode(config);
  });
  decode(text, config);
}

}  // namespace rueda
