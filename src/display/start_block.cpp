#include "rueda/display/start_block.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"
#include "run_lines.hpp"

namespace rueda {
namespace {

constexpr std::size_t kIndent = 13;
// Small, for hosts and devices have long names.
constexpr std::size_t kRankIndent = 4;

std::string entry(const char* label, const std::string& text) {
  return paragraph(std::string("  ") + label, kIndent, text);
}

std::string model(const RunRecord& run) {
  std::string text = fmt::format(
      "{} for {}x{} images in {}, {} trainable parameters, {} "
      "non-trainable",
      run.config.model, run.config.image_size, run.config.image_size,
      to_string(run.config.precision), count_text(run.parameters), count_text(run.statistics));
  if (run.train_flops_per_image > 0) {
    text += fmt::format(", {:.4g} GFLOP per training image", run.train_flops_per_image / 1e9);
  }
  if (!run.config.init_weights.empty()) text += ", weights from " + run.config.init_weights;
  return text;
}

std::string data(const RunRecord& run) {
  return fmt::format("{}: {} for training, {} for testing", run.data_source,
                     counted(run.train_images, "image"), count_text(run.test_images));
}

/// How the memory decided about the batch.
std::string fitted(const RunRecord& run) {
  if (run.micro_batch_asked == run.micro_batch) return "";
  const std::string found = fmt::format(" (micro-batches of {}: ", run.micro_batch);
  if (run.micro_batch_asked == 0) return found + "the most that fits)";
  return found + fmt::format("{} did not fit)", run.micro_batch_asked);
}

std::string batch(const RunRecord& run) {
  std::string text = fmt::format("{} global", run.global_batch);
  if (!run.rank_batches.empty()) {
    const auto [least, most] =
        std::minmax_element(run.rank_batches.begin(), run.rank_batches.end());
    text += *least == *most ? fmt::format(", {} per rank", *most)
                            : fmt::format(", {} to {} per rank", *least, *most);
  }
  if (run.config.accumulate > 1) text += fmt::format(" in {} micro-batches", run.config.accumulate);
  return text + fitted(run);
}

/// What becomes of the images that do not fill a global batch.
std::string last_batch(const RunRecord& run) {
  const std::size_t full = run.steps_per_epoch * run.global_batch;
  if (full > run.train_images && full - run.train_images < run.global_batch) {
    return fmt::format(", the last of {}",
                       counted(run.global_batch - (full - run.train_images), "image"));
  }
  if (full < run.train_images) {
    return fmt::format(", {} left out", counted(run.train_images - full, "image"));
  }
  return "";
}

std::string learning_rate(const RunRecord& run) {
  const TrainConfig& c = run.config;
  std::string text = setting_text(run.learning_rate) + " (not scaled)";
  if (c.scale_lr == ScaleLr::linear) {
    text = fmt::format("{} x {}/{} = {:.6g} (linear scaling)", setting_text(c.lr), run.global_batch,
                       c.base_batch, run.learning_rate);
  }
  text += fmt::format(", {} schedule", to_string(c.lr_schedule));
  if (c.warmup_epochs > 0) {
    text += fmt::format(" after {} of warm-up", setting_text(c.warmup_epochs) + " epochs");
  }
  return text;
}

std::string ranks(const RunRecord& run) {
  std::string text =
      counted(run.ranks.size(), "rank") + " on " + counted(host_count(run.ranks), "host");
  if (!run.ranks.empty() && same_device(run.ranks)) text += ": " + run.ranks.front().device;
  return text;
}

/// The largest rank's: the one that does not fit first.
std::string memory(const RunRecord& run) {
  const auto most = std::max_element(
      run.ranks.begin(), run.ranks.end(),
      [](const RankInfo& a, const RankInfo& b) { return a.memory.total() < b.memory.total(); });
  if (most == run.ranks.end()) return "";
  const auto text = [](std::size_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  return fmt::format("{} per rank: {} for the model, {} for the batch", text(most->memory.total()),
                     text(most->memory.of_model()), text(most->memory.of_batch()));
}

std::string optimizer(const TrainConfig& c) {
  return fmt::format("SGD, momentum {}{}, weight decay {}", setting_text(c.momentum),
                     c.nesterov ? " (Nesterov)" : "", setting_text(c.weight_decay));
}

/// What MPI reads; nccl does without MPI.
std::string transport(const RunRecord& run) {
  if (run.config.all_reduce == Algorithm::nccl) return "";
  if (run.transport == "staged") return ", staged through host memory";
  return run.transport.empty() ? "" : ", " + run.transport + " memory";
}

std::string all_reduce(const RunRecord& run) {
  const std::string bytes = bytes_text(static_cast<double>(run.gradient_bytes));
  if (run.ranks.size() == 1) return fmt::format("none: one rank ({} of gradients)", bytes);
  std::string text = run.all_reduce + transport(run);
  if (!run.all_reduce_details.empty()) text += ", " + run.all_reduce_details;
  text += fmt::format("; {} per step", bytes);
  if (run.bucket_bytes.size() > 1) text += fmt::format(" in {} buckets", run.bucket_bytes.size());
  return text + (run.overlaps ? ", while backward computes" : "");
}

}  // namespace

std::string start_block(const RunRecord& run) {
  const std::string steps = counted(run.steps_per_epoch, "step") + " per epoch" + last_batch(run);
  const std::string timed = run.timed ? entry("timed", timed_text(run)) : "";
  return timed + entry("model", model(run)) + entry("data", data(run)) +
         entry("input", input_mode_text(run.config)) + entry("ranks", ranks(run)) +
         rank_lines(run.ranks, kRankIndent) + entry("batch", batch(run) + "; " + steps) +
         entry("lr", learning_rate(run)) + entry("optimizer", optimizer(run.config)) +
         entry("all-reduce", all_reduce(run)) + entry("memory", memory(run)) +
         entry("run in", run.config.run_dir);
}

}  // namespace rueda
