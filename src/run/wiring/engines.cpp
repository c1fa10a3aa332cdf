#include "run/wiring/engines.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"
#include "run/wiring/plans.hpp"
#include "run/wiring/tuning_file.hpp"
#include "run/wiring/versions.hpp"
#if RUEDA_CUDA_TRAINS
#include "cuda/backend/cuda_backend.hpp"
#endif

namespace rueda {
namespace {

std::string cudnn_version() {
  for (const auto& [name, version] : component_versions())
    if (name == "cuDNN") return version;
  return "";
}

/// Sets the engines of a tuning file, by the work that they do, for all that is
/// planned from now on. Not for the cpu backend.
Tuning use_tuning(Backend& backend, const std::string& text, const std::string& file) {
  Tuning tuning = parse_tuning(text, file);
  check_tuning(tuning, file, std::string(backend.device()), cudnn_version());
#if RUEDA_CUDA_TRAINS
  cuda::plan_store(backend)->use(tuning.engines);
#endif
  return tuning;
}

/// Adds what the operations planned so far compute with, and what was timed.
void add_engines([[maybe_unused]] const Backend& backend, [[maybe_unused]] Tuning& tuning) {
#if RUEDA_CUDA_TRAINS
  const auto* store = cuda::plan_store(backend);
  for (const auto& [work, engine] : store->engines()) tuning.engines[work] = engine;
  for (const auto& [work, times] : store->times()) {
    for (const auto& [engine, time] : times) {
      tuning.seconds[work][engine] = time.seconds;
      tuning.launches[work][engine] = time.launches;
    }
  }
#endif
}

/// What the file says already stays: only work that it does not name is measured.
std::string tune(const TrainConfig& config, BackendOptions options,
                 const std::function<void(Backend&)>& plan) {
  options.tune = true;
  const auto backend = open_backend(options);
  Tuning tuning{std::string(backend->device()), cudnn_version(), {}};
  std::error_code unknown;
  // What cannot be looked at is refused by reading it.
  if (fs::status(config.device.tuning_file, unknown).type() != fs::file_type::not_found)
    tuning = use_tuning(*backend, read_tuning_file(config.device.tuning_file),
                        config.device.tuning_file);
  const auto write = [&] {
    add_engines(*backend, tuning);
    write_output(config.device.tuning_file, tuning_text(tuning));
  };
#if RUEDA_CUDA_TRAINS
  cuda::plan_store(*backend)->when_timed(write);  // a run that is killed leaves what it measured
#endif
  plan(*backend);
  write();
  log_plans(*backend);
  return tuning_text(tuning);
}

}  // namespace

void agree_on_engines(RankGroup& world, const TrainConfig& config, const BackendOptions& options,
                      Backend& backend, const std::function<void(Backend&)>& plan) {
  if (config.device.tuning_file.empty()) return;
  together(world, [&] {
    if (backend.name() == "cuda") return;
    throw InputError("--tuning-file names engines of GPUs, and this run trains on the " +
                     std::string(backend.name()) + " backend: leave it out");
  });
  const std::string text = text_of_rank_0(world, [&] {
    if (config.device.tune_engines) return tune(config, options, plan);
    return read_tuning_file(config.device.tuning_file);
  });
  together(world, [&] { use_tuning(backend, text, config.device.tuning_file); });
}

}  // namespace rueda
