#include "tuning_file.hpp"

#include <nlohmann/json.hpp>

#include "core/bounded_json.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

using Json = nlohmann::json;
constexpr int kFormat = 1;
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

constexpr JsonLimits kLimits{.most_values = 20'000, .most_depth = 4, .most_keys = 5'000};

InputFile tuning_file(const std::string& file) {
  return {file, "--tuning-file " + file,
          "write a new one with --tune-engines, or leave the option out"};
}

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  tuning_file(file).refuse(why);
}

}  // namespace

Tuning parse_tuning(const std::string& text, const std::string& file) {
  const auto json = parse_json(text, tuning_file(file), kLimits);
  try {
    if (!json.is_object() || json.at("rueda_tuning") != kFormat) {
      refuse(file, "not a tuning file");
    }
    Tuning tuning{json.at("device"), json.at("cudnn"), {}};
    for (const auto& [key, engine] : json.at("engines").items()) tuning.engines[key] = engine;
    return tuning;
  } catch (const Json::exception&) {
    refuse(file, "not a complete tuning file");
  }
}

std::string tuning_text(const Tuning& tuning) {
  const Json json = {{"rueda_tuning", kFormat},
                     {"device", tuning.device},
                     {"cudnn", tuning.cudnn},
                     {"engines", tuning.engines}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void check_tuning(const Tuning& tuning, const std::string& file, const std::string& device,
                  const std::string& cudnn) {
  if (tuning.device != device) {
    refuse(file,
           "it was made on \"" + printable(tuning.device) + "\", and this is \"" + device + "\"");
  }
  if (tuning.cudnn != cudnn) {
    refuse(file,
           "it was made with cuDNN " + printable(tuning.cudnn) + ", and this is cuDNN " + cudnn);
  }
}

std::string read_tuning_file(const std::string& file) {
  return read_whole(tuning_file(file), kMostBytes);
}

}  // namespace rueda
