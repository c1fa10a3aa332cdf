#include "json_parts.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/train/options.hpp"

namespace rueda {
namespace {

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <typename Value>
  Json operator()(const Value& value) const {
    return value;
  }
};

}  // namespace

Json config_json(const TrainConfig& config) {
  Json json;
  for (const TrainOption& option : train_options()) {
    json[option.name] = std::visit(ToJson{}, value_of(option, config));
  }
  return json;
}

std::string options_json(const TrainConfig& config) { return text_of(config_json(config)); }

std::string config_text(const TrainConfig& config) {
  const Json json = config_json(config);
  std::string text;
  for (const auto& [option, value] : json.items()) {
    text += "--" + option + " " + text_of(value) + "\n";
  }
  return text;
}

}  // namespace rueda
