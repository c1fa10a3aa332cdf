#include "run/wiring/open_backend.hpp"

#include <algorithm>
#include <span>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json/bounded_json.hpp"
#include "base/json/json_fields.hpp"
#include "base/log.hpp"
#include "base/text_input.hpp"
#include "cuda/device/device_query.hpp"
#include "launch/launcher.hpp"
#include "mpi/session/session.hpp"
#include "version_config.hpp"
#if RUEDA_WITH_CPU
#include "cpu/cpu_backend.hpp"
#endif
#if RUEDA_CUDA_TRAINS
#include "cuda/backend/cuda_backend.hpp"
#endif

namespace rueda {
namespace {

#if RUEDA_WITH_CPU
std::unique_ptr<Backend> open_cpu(const BackendOptions& o) {
  return cpu::make_cpu_backend({.threads = o.threads, .precision = o.precision});
}
#else
std::unique_ptr<Backend> open_cpu(const BackendOptions&) {
  throw InputError(
      "--backend cpu: this build has no CPU backend (-Dcpu=disabled, or oneDNN was not found); "
      "build with oneDNN and without -Dcpu=disabled, or use --backend cuda");
}
#endif

#if RUEDA_CUDA_TRAINS
/// Empty: none is given.
void check_folder(const std::string& option, const std::string& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return;
  const std::string why = error ? error.message() : "it is no folder";
  throw InputError(option + " " + printable(folder) + ": " + why +
                   "; give a folder that is there, or make it first");
}

bool has_cuda_device() { return !cuda_devices().visible.empty(); }

std::unique_ptr<Backend> open_cuda(const BackendOptions& o) {
  const auto found = cuda_devices();
  require(!found.visible.empty(),
          "--backend cuda: no CUDA device here (" + found.reason + "); use --backend cpu or auto");
  check_folder("--plan-cache", o.plan_cache);
  return cuda::make_cuda_backend({o.precision, o.deterministic, o.tune, o.plan_cache});
}
#else
bool has_cuda_device() { return false; }

std::unique_ptr<Backend> open_cuda(const BackendOptions&) {
  throw InputError(
#if RUEDA_WITH_CUDA
      "--backend cuda: this build has CUDA, but cuDNN 9 or cuBLAS was not found when it was built"
#else
      "--backend cuda: this build has no CUDA part (-Dcuda=disabled, or nvcc was not found)"
#endif
      "; use --backend cpu or auto");
}
#endif

constexpr int kFormat = 1;
constexpr const char* kFormatName = "rueda_tuning";
int format_of(const Tuning&) { return kFormat; }

const std::tuple kTuningFields{Field{"cudnn", &Tuning::cudnn}, Field{"device", &Tuning::device},
                               Field{"engines", &Tuning::engines}, Field{kFormatName, format_of},
                               IfAny{"seconds", &Tuning::seconds}};

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

constexpr JsonLimits kLimits{.most_values = 20'000, .most_depth = 4, .most_keys = 5'000};

InputFile tuning_file(const std::string& file) {
  return {file, "--tuning-file " + file,
          "write a new one with --tune-engines, or leave the option out"};
}

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
  for (const auto& [work, seconds] : store->times()) tuning.seconds[work] = seconds;
#endif
}

/// What the file says already stays: only work that it does not name is measured.
std::string tune(const TrainConfig& config, BackendOptions options,
                 const std::function<void(Backend&)>& plan) {
  options.tune = true;
  const auto backend = open_backend(options);
  Tuning tuning{std::string(backend->device()), cudnn_version(), {}, {}};
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

#if RUEDA_CUDA_TRAINS
/// The first of them, a line each; empty: there are none.
std::string failures_text(std::span<const std::string> failures) {
  if (failures.empty()) return "";
  constexpr std::size_t kShown = 4;
  std::string text =
      std::to_string(failures.size()) + " engines of cuDNN do not compile or run; others are used:";
  for (const std::string& one : failures.first(std::min(kShown, failures.size())))
    text += "\n  " + one;
  if (failures.size() > kShown)
    text += "\n  and " + std::to_string(failures.size() - kShown) + " more";
  return text;
}

bool shares_plans() {
  const char* word = environment_variable("RUEDA_SHARE_PLANS");
  return word == nullptr || std::string_view(word) != "0";
}
#endif

}  // namespace

bool wants_cuda(BackendChoice choice) {
  if (choice != BackendChoice::automatic) return choice == BackendChoice::cuda;
  return has_cuda_device();
}

BackendOptions options_of(const TrainConfig& config, int threads) {
  BackendOptions options;
  options.choice = config.device.backend;
  options.precision = config.device.precision;
  options.threads = threads;
  options.deterministic = config.device.deterministic;
  options.plan_cache = config.device.plan_cache;
  return options;
}

std::unique_ptr<Backend> open_backend(const BackendOptions& options) {
  if (options.choice == BackendChoice::timed)
    return std::make_unique<timed::TimedBackend>(options.compute, options.jitter);
  return wants_cuda(options.choice) ? open_cuda(options) : open_cpu(options);
}

std::unique_ptr<DeviceMonitor> open_monitor([[maybe_unused]] const std::string& uuid) {
#if RUEDA_WITH_CUDA
  if (!uuid.empty()) return open_nvml(uuid);
#endif
  return nullptr;
}

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

std::map<std::string, int> share_out_plans(const std::vector<std::string>& wanted) {
  std::map<std::string, std::vector<std::size_t>> wanting;  // ranks
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    std::istringstream lines(wanted[rank]);
    for (std::string title; std::getline(lines, title);) wanting[title].push_back(rank);
  }
  std::map<std::string, int> shares;
  std::vector<int> load(wanted.size());
  for (const auto& [title, ranks] : wanting) {
    const std::size_t rank =
        *std::ranges::min_element(ranks, {}, [&](std::size_t r) { return load[r]; });
    ++load[rank];
    shares[title] = int(rank);
  }
  return shares;
}

void compile_in_turns([[maybe_unused]] RankGroup& world, [[maybe_unused]] Backend& backend,
                      [[maybe_unused]] const std::function<void()>& plan) {
#if RUEDA_CUDA_TRAINS
  cuda::PlanStore* store = cuda::plan_store(backend);
  const bool takes_part = store != nullptr && shares_plans();
  if (world.size() == 1 || !max_over_ranks(world, takes_part)) return;
  std::string wanted;
  together(world, [&] {
    if (!takes_part) return;
    store->put_off_compilation(true);
    plan();
    for (const std::string& title : store->put_off()) wanted += title + "\n";
  });
  std::map<std::string, std::string> compiled;
  const auto shares = share_out_plans(all_gather_text(world, wanted));
  together(world, [&] {
    for (const auto& [title, rank] : shares)
      if (rank == world.rank()) compiled[title] = store->compile(title);
  });
  for (const auto& [title, rank] : shares) {
    const auto texts = all_gather_text(world, compiled[title]);
    const std::string& text = texts[std::size_t(rank)];
    if (takes_part && rank != world.rank() && !text.empty()) store->restore_from(title, text);
  }
  if (takes_part) store->put_off_compilation(false);
#endif
}

void log_plans(const Backend& backend) {
  log(LogLevel::warn, backend.slow_plans());
#if RUEDA_CUDA_TRAINS
  const auto* store = cuda::plan_store(backend);
  if (store == nullptr) return;
  log(LogLevel::warn, failures_text(store->failures()));
  for (const std::string& note : store->kept_notes()) log(LogLevel::debug, note);
#endif
}

std::string program_version() {
  const std::string_view revision = RUEDA_GIT_REVISION;
  const std::string version = RUEDA_VERSION;
  // Without a git checkout the build has no revision, or repeats the version in its place.
  if (revision.empty() || revision == version) return version;
  return version + " (" + std::string(revision) + ")";
}

Versions component_versions() {
  Versions versions = {{"rueda", program_version()}, {"MPI", mpi_library_version()}};
#if RUEDA_WITH_CPU
  versions.emplace_back("oneDNN", cpu::onednn_version());
#else
  versions.emplace_back("oneDNN", "not built in");
#endif
#if RUEDA_WITH_CUDA
  for (auto& component : cuda_component_versions()) versions.push_back(std::move(component));
#else
  versions.emplace_back("CUDA", "not built in");
#endif
  return versions;
}

std::string version_text() {
  std::string text;
  for (const auto& [name, version] : component_versions())
    text += (text.empty() ? "" : "\n  ") + name + " " + version;
  return text;
}

}  // namespace rueda
