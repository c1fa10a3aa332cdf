#include "record/recorded_options.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

/// Takes a text out; empty where there is none.
std::string take_text(Json& options, const char* name) {
  std::string text;
  if (const auto found = options.find(name); found != options.end()) {
    if (found->is_string()) text = *found;
    if (found->is_number()) text = fmt::format("{}", found->get<double>());
    options.erase(name);
  }
  return text;
}

/// Version 1.0 had four options that said how long the timed backend computes.
void join_compute(Json& options) {
  if (!options.contains("compute-ms")) return;
  std::string compute;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (value.empty()) return;
    if (!compute.empty()) compute += ',';
    compute += name + '=' + value;
  };
  add("ms", take_text(options, "compute-ms"));
  const std::string jitter = take_text(options, "compute-jitter");
  if (jitter != "0") add("jitter", jitter);
  std::string factors = take_text(options, "compute-factors");
  std::replace(factors.begin(), factors.end(), ',', ':');
  add("factors", factors);
  add("from", take_text(options, "compute-from"));
  options["compute"] = compute.empty() ? Json() : Json(compute);
}

}  // namespace

Json recorded_options(const Json& config) {
  Json options = config;
  if (!options.is_object()) return options;  // whoever reads it says so
  join_compute(options);
  options.erase("inject");  // was of that process alone
  if (options.value("on-audit", Json()) == "stop") options.erase("on-audit");
  return options;
}

}  // namespace rueda
