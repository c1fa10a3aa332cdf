#include "timed_setup.hpp"

#include <string>

#include <spdlog/fmt/fmt.h>

#include "recorded_compute.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/run_plan.hpp"

namespace rueda {

std::optional<TimedCompute> settle_compute(RankGroup& group, const TrainConfig& config,
                                           std::size_t train_images) {
  if (config.backend != BackendChoice::timed) return {};
  TimedCompute compute{config.compute_ms / 1e3, 1, config.compute_jitter, config.compute_from};
  std::string per_image;
  together(group, [&] {
    const auto world = static_cast<std::size_t>(group.size());
    compute.images = plan_run(config, world, train_images).largest_micro_batch();
    if (config.compute_from.empty() || group.rank() != 0) return;
    per_image = fmt::format(
        "{:a}", recorded_image_seconds(config.compute_from, config.model, config.image_size));
  });
  if (config.compute_from.empty()) return compute;
  per_image = all_gather_text(group, per_image).front();
  compute.seconds = std::stod(per_image) * static_cast<double>(compute.images);
  return compute;
}

}  // namespace rueda
