#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/timed/timed_backend.hpp"
#include "base/text.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Whether a run with this choice is to train on a GPU, if one is here. Asks
/// the driver only where the choice leaves it open.
bool wants_cuda(BackendChoice choice);

struct BackendOptions {
  BackendChoice choice = BackendChoice::automatic;
  Precision precision = Precision::fp32;
  int threads = 1;              ///< of the cpu backend
  bool deterministic = false;   ///< of the cuda backend, as are the next two
  bool tune = false;            ///< times engines for what `use_engines` does not name
  std::string plan_cache = {};  ///< folder of compiled plans; empty: none
  TimedCompute compute = {};    ///< of the timed backend, as is the next
  timed::JitterSeed jitter = {};
};

/// Collective. What the timed backend waits for, if the configuration asks for
/// it; rank 0 reads the recorded run for all. Throws InputError.
std::optional<TimedCompute> choose_compute(RankGroup& group, const TrainConfig& config,
                                           std::size_t train_images);

/// Seconds that forward, loss and backward of one image took in a recorded run
/// of `model` at `image_size`: the median over the full steps of all ranks,
/// without those of the first epoch if there are others. `file` is its
/// run.json, its steps.csv lies next to it. Throws InputError.
double recorded_image_seconds(const std::string& file, const std::string& model, int image_size);

/// What `config` says of the backend, but for the timed one.
BackendOptions options_of(const TrainConfig& config, int threads);

/// Throws InputError for a backend that is not available here, or that cannot
/// compute in the precision.
std::unique_ptr<Backend> open_backend(const BackendOptions& options);

/// Watches the GPU with this UUID; null without a GPU (an empty UUID), or where NVML is missing.
std::unique_ptr<DeviceMonitor> open_monitor(const std::string& uuid);

/// By what they compute.
using Engines = std::map<std::string, std::string>;

/// The fastest engines measured on one kind of GPU: a file of JSON.
struct Tuning {
  std::string device;  ///< GPU name
  std::string cudnn;   ///< version: engines are numbered anew in each
  Engines engines;
  /// Seconds of each engine that was timed, by work and engine. For people: it decides nothing.
  std::map<std::string, std::map<std::string, double>> seconds = {};
};

/// Throws InputError naming the file for anything but a tuning file.
Tuning parse_tuning(const std::string& text, const std::string& file);
std::string tuning_text(const Tuning& tuning);

/// Throws InputError if the tuning was made on another kind of GPU or with another cuDNN.
void check_tuning(const Tuning& tuning, const std::string& file, const std::string& device,
                  const std::string& cudnn);

/// The file's text; throws InputError if it cannot be read.
std::string read_tuning_file(const std::string& file);

/// Collective. Sets the engines of --tuning-file in `backend`, which has no
/// plans yet. With --tune-engines rank 0 measures them first: `plan` plans all
/// that training will need on a backend of rank 0's own, and rank 0 writes the
/// file, anew after each kind of work. Throws InputError alike on all ranks.
void agree_on_engines(RankGroup& world, const TrainConfig& config, const BackendOptions& options,
                      Backend& backend, const std::function<void(Backend&)>& plan);

/// Collective. To be called before all ranks make plans on their `backend`, by
/// `plan`: of what NVRTC compiles, each rank compiles a part, and gets the rest
/// from others. Where that does not work, the rank compiles when it plans. A
/// rank with the environment variable RUEDA_SHARE_PLANS=0 takes no part.
void compile_in_turns(RankGroup& world, Backend& backend, const std::function<void()>& plan);

/// Which rank compiles which plan, from the titles of those that each rank
/// wants, one a line: a rank that wants it, and all about as many.
std::map<std::string, int> share_out_plans(const std::vector<std::string>& wanted);

/// Warns of plans that are slow and of engines that `backend` left out because
/// they did not compile or run, and notes which plans of --plan-cache were not read or not written,
/// and why.
void log_plans(const Backend& backend);

/// Version of the program with its git revision, for example "1.0.0 (1a2b3c4)".
/// Ranks of one run must agree on it.
std::string program_version();

/// This program and every library that it runs on, as the loaded libraries report themselves.
Versions component_versions();

/// What `rueda --version` prints.
std::string version_text();

}  // namespace rueda
