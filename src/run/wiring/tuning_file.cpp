#include "run/wiring/tuning_file.hpp"

#include <system_error>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json/bounded_json.hpp"
#include "base/json/json_fields.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"

namespace rueda {
namespace {

constexpr int kFormat = 1;
constexpr const char* kFormatName = "rueda_tuning";
int format_of(const Tuning&) { return kFormat; }

const std::tuple kTuningFields{Field{"cudnn", &Tuning::cudnn},
                               Field{"device", &Tuning::device},
                               Field{"engines", &Tuning::engines},
                               Derived{kFormatName, format_of},
                               Field{"seconds", &Tuning::seconds, if_any},
                               Field{"launches", &Tuning::launches, if_any}};

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

constexpr JsonLimits kLimits{.most_values = 20'000, .most_depth = 4, .most_keys = 5'000};

InputFile tuning_file(const std::string& file) {
  return {file, "--tuning-file " + file,
          "write a new one with --tune-engines, or leave the option out"};
}

}  // namespace

Tuning parse_tuning(const std::string& text, const std::string& file) {
  const InputFile input = tuning_file(file);
  const nlohmann::ordered_json json = parse_json(text, input, kLimits);
  const auto format = json.find(kFormatName);
  const bool is_other = format != json.end() && *format != kFormat;
  input.require(json.is_object() && !is_other, "not a tuning file");
  Tuning tuning;
  try {
    const JsonView j(json);
    j.at(kFormatName);
    read_fields(j, tuning, kTuningFields);
  } catch (const InputError&) {
    input.refuse("not a complete tuning file");
  }
  for (const auto& [work, engine] : tuning.engines) {
    // The word stands for kernels in place of an epilogue (cuda::kUnfused).
    if (engine == "unfused" && work.find(" + ") == work.npos)
      input.refuse("it leaves \"" + printable(work) + "\" unfused, which has no epilogue");
  }
  return tuning;
}

std::string tuning_text(const Tuning& tuning) {
  return text_of(fields_json(tuning, kTuningFields), 2) + "\n";
}

void check_tuning(const Tuning& tuning, const std::string& file, const std::string& device,
                  const std::string& cudnn) {
  const InputFile named = tuning_file(file);
  named.require(tuning.device == device, "it was made on \"" + printable(tuning.device) +
                                             "\", and this is \"" + device + "\"");
  named.require(tuning.cudnn == cudnn, "it was made with cuDNN " + printable(tuning.cudnn) +
                                           ", and this is cuDNN " + cudnn);
}

std::string read_tuning_file(const std::string& file) {
  return read_text(tuning_file(file), kMostBytes);
}

}  // namespace rueda
