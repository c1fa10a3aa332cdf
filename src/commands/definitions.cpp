#include "commands/definitions.hpp"

#include <ostream>
#include <variant>

#include <fmt/format.h>

#include "base/core_time.hpp"
#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/json/bounded_json.hpp"
#include "commands/bench/bench.hpp"
#include "model/flops.hpp"
#include "model/registry.hpp"
#include "record/definitions.hpp"
#include "record/evaluation_record.hpp"
#include "record/run_json.hpp"
#include "record/run_status.hpp"
#include "reduce/cost_model.hpp"
#include "rueda/data/dataset.hpp"
#include "train/balance.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

/// Names of the kinds of options, and what a study has to know of them.
struct KindJson {
  Json operator()(const Text&) const { return {{"kind", "text"}}; }
  template <typename Number>
  Json operator()(const NumberIn<Number>&) const {
    return {{"kind", "number"}};
  }
  template <typename Number>
  Json operator()(const NumberOrWord<Number>& option) const {
    return {{"kind", "number or word"}, {"words", {option.word}}};
  }
  Json operator()(const Flag&) const { return {{"kind", "flag"}}; }
  Json operator()(const Words& option) const {
    return {{"kind", "words"}, {"words", option.words}};
  }
  Json operator()(const Formed&) const { return {{"kind", "formed"}}; }
};

Json value_json(const OptionValue& value) {
  return std::visit(
      [](const auto& plain) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(plain)>, std::monostate>)
          return nullptr;
        else
          return plain;
      },
      value);
}

Json options_json() {
  const TrainConfig usual;
  Json options = Json::array();
  for (const TrainOption& option : train_options()) {
    Json j = {{"name", option.name},
              {"group", option.group},
              {"timing", to_string(option.timing)},
              {"resume", to_string(option.resume)},
              {"default", value_json(value_of(option, usual))}};
    j.update(std::visit(KindJson(), option.kind));
    options.push_back(std::move(j));
  }
  return options;
}

Json phases_json() {
  Json phases = Json::array();
  for (std::size_t p = 0; p < kPhases; ++p)
    phases.push_back({{"key", kPhaseNames[p]}, {"words", phase_words(p)}});
  return phases;
}

Json factors_json() {
  Json factors = Json::array();
  for (const auto& [key, heading] : kFactors)
    factors.push_back({{"key", key}, {"heading", heading}});
  return factors;
}

Json exit_codes_json() {
  return {{"done", int(ExitCode::done)},
          {"run_failed", int(ExitCode::run_failed)},
          {"bad_input", int(ExitCode::bad_input)},
          {"stopped", int(ExitCode::stopped)}};
}

/// Files of the program that the reader reads.
Json files_json() {
  return {
      {"run", {{"name", kRunJsonName}, {"schema", kRunSchema}, {"version", kRunSchemaVersion}}},
      {"steps", {{"name", kStepsCsvName}}},
      {"epochs", {{"name", kEpochsCsvName}}},
      {"ranks", {{"name", kRanksCsvName}}},
      {"status", {{"name", kStatusName}}},
      {"evaluation",
       {{"name", kEvaluationName}, {"schema", kEvaluationSchema}, {"version", kEvaluationVersion}}},
      {"bench", {{"schema", "rueda_bench"}, {"version", bench::kRecordVersion}}}};
}

Json thresholds_json() {
  return {{"nothing_lost", kNothingLost},
          {"fair_share", kFairShare},
          {"balance_least_gain", kLeastGainOfBalance},
          {"balance_least_steps", kLeastStepsOfBalance}};
}

Json limits_json() {
  const JsonLimits usual;
  return {{"json_bytes", kMostJsonBytes},
          {"json_values", usual.most_values},
          {"json_depth", usual.most_depth},
          {"json_keys", usual.most_keys},
          {"head_bytes", kHeadBytes}};
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// What a file may be where a text was expected.
Json file_kinds_json() {
  Json kinds = Json::array();
  for (const KindMarks& kind : kinds_but_text()) {
    Json magics = Json::array(), texts = Json::array();
    for (const auto& [bytes, offset] : kind.magics)
      magics.push_back({{"offset", offset}, {"bytes", hexadecimal(bytes)}});
    for (const auto& [begin, has] : kind.texts) texts.push_back({{"begin", begin}, {"has", has}});
    kinds.push_back({{"name", kind.name},
                     {"unpack", kind.unpack},
                     {"instead", kind.instead},
                     {"magics", std::move(magics)},
                     {"texts", std::move(texts)}});
  }
  return kinds;
}

/// Networks of data sets as CIFAR-10, from which their sizes can be told.
Json models_json() {
  constexpr int kPixels = 32;
  Json models = Json::array();
  for (const std::string& name : model_names()) {
    const Graph graph = build_model(name, kPixels, kClasses);
    models.push_back({{"name", name},
                      {"parameters", graph.parameter_count()},
                      {"train_flops_per_image", training_flops(graph)}});
  }
  return models;
}

}  // namespace

std::string definitions_json() {
  const Json json = {{"rueda_definitions", 1},          {"phases", phases_json()},
                     {"factors", factors_json()},       {"outcomes", kOutcomes},
                     {"exit_codes", exit_codes_json()}, {"files", files_json()},
                     {"thresholds", thresholds_json()}, {"limits", limits_json()},
                     {"file_kinds", file_kinds_json()}, {"models", models_json()},
                     {"usual_classes", kClasses},       {"algorithms", words_of(cost::Scheme{})},
                     {"options", options_json()}};
  return text_of(json, 1) + '\n';
}

void run_command(const DefinitionsOptions&, std::ostream& out) { out << definitions_json(); }

}  // namespace rueda
