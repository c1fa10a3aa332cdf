#include "engine_tuning.hpp"

#include <filesystem>

#include "rueda/core/atomic_file.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "tuning_file.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#endif

namespace rueda {
namespace {

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

void settle_engines(Communicator& world, const TrainConfig& config, const BackendOptions& options,
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
