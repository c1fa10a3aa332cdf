#include "engine_tuning.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/bounded_json.hpp"
#include "engine_tuning.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/core/text.hpp"
#include "rueda/reduce/rank_group.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#endif

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

std::string cudnn_version() {
#if RUEDA_WITH_CUDA
  for (const auto& [name, version] : cuda_component_versions()) {
    if (name == "cuDNN") return version;
  }
#endif
  return "";
}

/// What the file says already stays: only work that it does not name is measured.
std::string tune(const TrainConfig& config, BackendOptions options,
                 const std::function<void(Backend&)>& plan) {
  options.tune = true;
  const auto backend = open_backend(options);
  Tuning tuning{std::string(backend->device()), cudnn_version(), {}};
  if (std::filesystem::exists(config.tuning_file)) {
    const Tuning before = parse_tuning(read_tuning_file(config.tuning_file), config.tuning_file);
    check_tuning(before, config.tuning_file, tuning.device, tuning.cudnn);
    tuning.engines = before.engines;
    use_engines(*backend, before.engines);
  }
  plan(*backend);
  for (const auto& [work, engine] : engines_in_use(*backend)) tuning.engines[work] = engine;
  const std::string text = tuning_text(tuning);
  write_atomically(config.tuning_file, text);
  return text;
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

void agree_on_engines(RankGroup& world, const TrainConfig& config, const BackendOptions& options,
                      Backend& backend, const std::function<void(Backend&)>& plan) {
  if (config.tuning_file.empty()) return;
  std::string mine;
  together(world, [&] {
    if (backend.name() != "cuda") {
      throw InputError("--tuning-file names engines of GPUs, and this run trains on the " +
                       std::string(backend.name()) + " backend: leave it out");
    }
    if (world.rank() != 0) return;
    mine = config.tune ? tune(config, options, plan) : read_tuning_file(config.tuning_file);
  });
  const std::string text = all_gather_text(world, mine).front();
  together(world, [&] {
    const Tuning tuning = parse_tuning(text, config.tuning_file);
    check_tuning(tuning, config.tuning_file, std::string(backend.device()), cudnn_version());
    use_engines(backend, tuning.engines);
  });
}

}  // namespace rueda
