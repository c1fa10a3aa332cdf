#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"

namespace rueda {
namespace {

std::string why_not(const GradientNoise& noise) {
  if (noise.reason == NoNoiseScale::one_part)
    return ": a step is one micro-batch of one rank; --accumulate 2 makes two of it";
  if (noise.reason == NoNoiseScale::few_steps)
    return " by " + counted(noise.steps, "step") + ": lower --global-batch, --noise-scale";
  return ": the gradient is not above its noise in an epoch";
}

bool scaled_above(const OptimizerConfig& optimizer, const GradientNoise& noise) {
  if (noise.reason || optimizer.scale_lr != ScaleLr::linear) return false;
  return noise.batch > optimizer.base_batch && double(noise.batch) > noise.high;
}

}  // namespace

std::string noise_text(const std::optional<GradientNoise>& noise, std::size_t ranks) {
  if (!noise) return "";
  if (noise->reason) return "not determined" + why_not(*noise);
  // Compared with what a rank has of a step, or with half of one.
  const std::size_t parts = std::max<std::size_t>(2, ranks);
  const double large = double(noise->batch);
  const double small = std::max(1.0, std::floor(large / double(parts)));
  const std::string worth =
      fmt::format("{:.3g}", (1 + noise->scale / small) / (1 + noise->scale / large));
  return fmt::format("{} ({} to {}): a step of {} is worth {} of {}", rate_text(noise->scale),
                     rate_text(noise->low), rate_text(noise->high), count_text(noise->batch), worth,
                     count_text(std::size_t(small)));
}

std::string noise_text(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  const auto& noise = run.epochs.back().gradient_noise;
  const std::string text = noise_text(noise, run.ranks.size());
  if (!noise || !scaled_above(run.config.optimizer, *noise)) return text;
  return text +
         fmt::format(
             "; --scale-lr multiplied the learning rate by {:.3g}, which is a good rule only up to "
             "a batch of about the noise scale",
             double(noise->batch) / double(run.config.optimizer.base_batch));
}

}  // namespace rueda
