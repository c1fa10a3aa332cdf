#include "run/wiring/timed_setup.hpp"

#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/json/json_view.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "record/run_figures.hpp"
#include "record/run_json.hpp"
#include "train/run_plan.hpp"

namespace rueda {
namespace {

constexpr std::array<std::string_view, 6> kColumns = {"epoch", "samples", "global_samples",
                                                      "loss",  "forward", "backward"};

InputFile recorded_file(const std::string& file) {
  return {file, "--compute from=" + file,
          "name the run.json of a run that computed with this --model and --image-size"};
}

/// Images of a full step.
double check_run(const InputFile& file, const std::string& model, int image_size) {
  const auto json = read_json(file);
  const JsonView j(json, file);
  if (!j.has("schema") || j.json()["schema"] != kRunSchema) file.refuse("no run.json");
  if (j.at("config").text("backend") == "timed") file.refuse("that run computed nothing itself");
  RunRecord run;
  read_facts(j, run);
  if (run.config.model.name != model || run.config.model.image_size != image_size) {
    file.refuse(fmt::format("it is of {} for {} pixels, not {} for {}",
                            printable(run.config.model.name), run.config.model.image_size, model,
                            image_size));
  }
  return double(run.global_batch);
}

/// Seconds of an image in each full step of each rank, without the first epoch if there are others.
std::vector<double> image_seconds(const InputFile& file, double global_batch) {
  std::vector<double> first, later;
  const auto csv = file.path.parent_path() / kStepsCsvName;
  const auto take = [&](std::span<const double> row) {
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (std::isfinite(row[i])) continue;
      file.refuse(fmt::format("its {} does not tell {} of every step", kStepsCsvName, kColumns[i]));
    }
    if (row[2] != global_batch || row[1] == 0) return;
    (row[0] == 1 ? first : later).push_back((row[3] + row[4] + row[5]) / row[1]);
  };
  if (!for_each_step(csv, kColumns, take))
    file.refuse(fmt::format("there is no {} in its directory", kStepsCsvName));
  return later.empty() ? first : later;
}

}  // namespace

double recorded_image_seconds(const std::string& name, const std::string& model, int image_size) {
  const InputFile file = recorded_file(name);
  const auto seconds = image_seconds(file, check_run(file, model, image_size));
  if (seconds.empty()) file.refuse("it has no full step");
  const double median = median_of(seconds);
  if (!(median > 0)) file.refuse("its steps took no time");
  return median;
}

std::optional<TimedCompute> choose_compute(RankGroup& group, const TrainConfig& config,
                                           std::size_t train_images) {
  if (config.device.backend != BackendChoice::timed) return {};
  TimedCompute compute{config.compute.ms.value_or(0) / 1e3, 1, config.compute.jitter,
                       config.compute.factors, config.compute.from};
  double of_image = 0;
  together(group, [&] {
    const auto world = std::size_t(group.size());
    require(compute.factors.empty() || compute.factors.size() == world,
            fmt::format("--compute has {} in factors= for {}: give one for each",
                        counted(compute.factors.size(), "number"), counted(world, "rank")));
    compute.images = plan_run(config, world, train_images).largest_micro_batch();
    if (!config.compute.from.empty() && group.rank() == 0)
      of_image =
          recorded_image_seconds(config.compute.from, config.model.name, config.model.image_size);
  });
  if (!config.compute.from.empty())
    compute.seconds = all_gather(group, of_image).front() * double(compute.images);
  return compute;
}

}  // namespace rueda
