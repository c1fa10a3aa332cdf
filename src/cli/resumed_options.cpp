#include "resumed_options.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "recipe.hpp"
#include "rueda/core/error.hpp"
#include "run/resume_point.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

/// What an interrupted run had for itself alone.
constexpr std::array<std::string_view, 9> kNotTakenOver = {
    "run-dir",  "resume", "overwrite",   "inject",      "init-weights",
    "progress", "trace",  "trace-steps", "save-weights"};

std::optional<Manifest> first_readable(const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    try {
      return read_manifest(candidate);
    } catch (const InputError&) {
      // find_resume_point tells of it.
    }
  }
  return std::nullopt;
}

/// The one of two options that decided.
bool is_idle(const Json& options, const std::string& name) {
  const Json global = options.value("global-batch", Json(0));
  if (name == "global-batch") return global == 0;
  return name == "batch-per-rank" && global != 0;
}

bool is_taken_over(const Json& options, const std::string& name) {
  return std::find(kNotTakenOver.begin(), kNotTakenOver.end(), name) == kNotTakenOver.end() &&
         !is_idle(options, name);
}

}  // namespace

void apply_resumed_options(CLI::App& command, const TrainConfig& config) {
  const auto manifest = first_readable(resume_candidates(config));
  if (!manifest) return;
  const Json options = Json::parse(manifest->config);
  for (const auto& [name, value] : options.items()) {
    CLI::Option* option = command.get_option_no_throw("--" + name);
    if (option == nullptr || value.is_null() || !is_taken_over(options, name)) continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    set_if_open(*option, text, "--resume " + config.resume);
  }
}

}  // namespace rueda
