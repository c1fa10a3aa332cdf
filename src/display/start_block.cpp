#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/statistics.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"
#include "launch/machine.hpp"
#include "train/balance.hpp"
#include "train/schedule.hpp"

namespace rueda {
namespace {

constexpr std::size_t kTextIndent = 13;
constexpr std::size_t kRankIndent = 4;  // small, for hosts and devices have long names

constexpr std::size_t kMostLines = 8;
constexpr std::size_t kWidestRanges = 12;
constexpr std::size_t kWidestHost = 24;
constexpr std::size_t kUuidStart = 12;  // "GPU-8f2c0001": enough to distinguish the GPUs of a run

using Ranks = std::vector<RankInfo>;

std::string item(const char* label, const std::string& text) {
  return paragraph(std::string("  ") + label, kTextIndent, text);
}

std::string model(const RunRecord& run) {
  const TrainConfig& c = run.config;
  std::string text = fmt::format(
      "{} for {}x{} images in {}, {} trainable parameters, {} non-trainable", c.model.name,
      c.model.image_size, c.model.image_size, to_string(c.device.precision),
      count_text(run.parameters), count_text(run.statistics));
  if (run.train_flops_per_image > 0)
    text += fmt::format(", {:.4g} GFLOP per training image", run.train_flops_per_image / 1e9);
  if (!c.model.init_weights.empty()) text += ", weights from " + c.model.init_weights;
  return text;
}

/// How the memory decided about the batch.
std::string fitted(const RunRecord& run) {
  if (run.micro_batch_asked == run.micro_batch) return "";
  std::string why = "the largest that fits";
  if (run.micro_batch_asked > 0) why = fmt::format("{} did not fit", run.micro_batch_asked);
  return fmt::format(" (micro-batches of {}: {})", run.micro_batch, why);
}

/// 34; "33 to 34" where it does not divide evenly; "86, 42" with --balance.
std::string of_each_rank(const RunRecord& run) {
  const std::vector<std::size_t>& batches = run.rank_batches;
  const auto [least, most] = std::ranges::minmax(batches);
  if (least == most) return fmt::format("{} per rank", most);
  if (run.config.batch.balance.equal()) return fmt::format("{} to {} per rank", least, most);
  const char* how = run.config.batch.balance.by_speed ? "by speed" : "as given";
  return fmt::format("{} per rank ({})", images_text(batches), how);
}

std::string batch(const RunRecord& run) {
  std::string text = fmt::format("{} global", run.global_batch);
  if (!run.rank_batches.empty()) text += ", " + of_each_rank(run);
  if (run.config.batch.accumulate > 1)
    text += fmt::format(" in {} micro-batches", run.config.batch.accumulate);
  return text + fitted(run);
}

/// What becomes of the images that do not fill a global batch.
std::string last_batch(const RunRecord& run) {
  const std::size_t full = run.steps_per_epoch * run.global_batch;
  if (full < run.train_images)
    return fmt::format(", {} left out", counted(run.train_images - full, "image"));
  const std::size_t missing = full - run.train_images;
  if (missing == 0 || missing >= run.global_batch) return "";
  return fmt::format(", the last of {}", counted(run.global_batch - missing, "image"));
}

std::string learning_rate(const RunRecord& run) {
  const TrainConfig& c = run.config;
  std::string text = setting_text(run.learning_rate) + " (not scaled)";
  if (c.optimizer.scale_lr == ScaleLr::linear) {
    text = fmt::format("{} x {}/{} = {:.6g} (linear scaling)", setting_text(c.optimizer.lr),
                       run.global_batch, c.optimizer.base_batch, run.learning_rate);
  }
  text += fmt::format(", {} schedule", to_string(c.optimizer.lr_schedule));
  if (c.optimizer.warmup_epochs > 0)
    text += fmt::format(" after {} {} of warm-up", setting_text(c.optimizer.warmup_epochs),
                        plural(c.optimizer.warmup_epochs, "epoch"));
  return text;
}

/// Whether all ranks have the device that the first has: then the line above them names it.
bool same_device(const Ranks& ranks) {
  for (const RankInfo& rank : ranks)
    if (rank.device != ranks.front().device) return false;
  return true;
}

std::string ranks_and_hosts(const Ranks& ranks) {
  const auto hosts = each_once(values_of(ranks, &RankInfo::host));
  std::string text = counted(ranks.size(), "rank") + " on " + counted(hosts.size(), "host");
  if (!ranks.empty() && same_device(ranks)) text += ": " + ranks.front().device;
  if (has_own_binding())
    text += "; each on its share of its host's cores, not on Open MPI's default";
  return text;
}

/// Of control groups; empty where they limit no rank.
std::string limits(const Ranks& ranks) {
  auto texts = each_once(values_of(ranks, &RankInfo::limits));
  std::erase(texts, "");
  if (texts.empty()) return "";
  std::string text = texts.front();
  if (texts.size() > 1) text += fmt::format("; and {} of other ranks", texts.size() - 1);
  return item("limits", text);
}

/// Ranks that share a line, in order; the first stands for all.
using RankLine = std::vector<const RankInfo*>;

bool same_kind(const RankInfo& a, const RankInfo& b) {
  return a.backend == b.backend && a.device == b.device && a.threads == b.threads &&
         a.cores == b.cores;
}

bool same_host_and_kind(const RankInfo& a, const RankInfo& b) {
  return a.host == b.host && same_kind(a, b);
}

/// Puts every rank into the first group whose first member is `alike`.
std::vector<RankLine> grouped(const Ranks& ranks, bool (*alike)(const RankInfo&, const RankInfo&)) {
  std::vector<RankLine> groups;
  for (const RankInfo& rank : ranks)
    group_of(groups, [&](const RankLine& g) { return alike(*g.front(), rank); }).push_back(&rank);
  return groups;
}

/// A line per rank up to eight ranks, else a line per host and kind of rank, or
/// per kind where that makes more than eight lines.
std::vector<RankLine> lines_of(const Ranks& ranks) {
  std::vector<RankLine> lines;
  if (ranks.size() <= kMostLines) {
    for (const RankInfo& rank : ranks) lines.push_back({&rank});
    return lines;
  }
  lines = grouped(ranks, same_host_and_kind);
  if (lines.size() > kMostLines) lines = grouped(ranks, same_kind);
  return lines;
}

std::string numbers(const RankLine& group, int RankInfo::*member) {
  std::set<int> values;
  for (const RankInfo* rank : group) values.insert(rank->*member);
  const std::string text = ranges_text({values.begin(), values.end()});
  if (text.size() > kWidestRanges) return fmt::format("{} of them", values.size());
  return text;
}

std::string hosts(const RankLine& group) {
  std::set<std::string> names;
  for (const RankInfo* rank : group) names.insert(rank->host);
  if (names.size() > 1) return fmt::format("{} hosts", names.size());
  return short_host(*names.begin(), kWidestHost);
}

/// The cell of the device column: the beginning of the UUID of a single rank's
/// GPU, and the name unless it is `named` elsewhere.
std::string device_text(const RankLine& group, bool named) {
  std::string text;
  if (group.size() == 1) text = group.front()->uuid.substr(0, kUuidStart);
  if (!named) add_to_list(text, group.front()->device, " ");
  return text;
}

std::string rank_lines(const Ranks& ranks) {
  TextTable table({Align::right, Align::left, Align::right, Align::left, Align::right, Align::right,
                   Align::left},
                  kRankIndent);
  const bool named = same_device(ranks);
  const auto groups = lines_of(ranks);
  const char* last_heading = "";
  for (const RankLine& group : groups)
    if (!device_text(group, named).empty()) last_heading = "device";
  table.add({"rank", "host", "local", "backend", "threads", "cores", last_heading});
  for (const RankLine& group : groups) {
    const RankInfo& r = *group.front();
    table.add({numbers(group, &RankInfo::rank), hosts(group), numbers(group, &RankInfo::local_rank),
               r.backend, std::to_string(r.threads), fmt::format("{:.4g}", r.cores),
               device_text(group, named)});
  }
  return table.text();
}

std::size_t bytes_of(const RankInfo& rank) { return rank.memory.total(); }

/// The largest rank's: the one that does not fit first.
std::string memory(const Ranks& ranks) {
  const auto most = std::ranges::max_element(ranks, {}, bytes_of);
  if (most == ranks.end()) return "";
  const MemoryNeed& need = most->memory;
  return fmt::format("{} per rank: {} for the model, {} for the batch", bytes_text(need.total()),
                     bytes_text(need.of_model()), bytes_text(need.of_batch()));
}

/// What MPI reads; nccl does without MPI.
std::string transport(const RunRecord& run) {
  if (run.config.sums.algorithm == Algorithm::nccl || run.transport.empty()) return "";
  if (run.transport == "staged") return ", staged through host memory";
  return ", " + run.transport + " memory";
}

std::string all_reduce(const RunRecord& run) {
  const std::string bytes = bytes_text(run.gradient_bytes);
  if (run.ranks.size() == 1) return fmt::format("none: one rank ({} of gradients)", bytes);
  std::string text = run.all_reduce + transport(run);
  if (!run.all_reduce_details.empty()) text += ", " + run.all_reduce_details;
  text += fmt::format("; {} per step", bytes);
  if (run.bucket_bytes.size() > 1) text += fmt::format(" in {} buckets", run.bucket_bytes.size());
  if (run.config.sums.bucket_mb == kAutoBucketMb)
    text += fmt::format(" (auto took --bucket-mb {})", setting_text(run.bucket_mb));
  if (run.overlaps) text += ", while backward computes";
  return text;
}

std::string data(const RunRecord& run) {
  std::string source = run.data_source;
  const bool asked = run.config.given.contains("data") || !run.resumptions.empty();
  if (run.config.data.path == "synthetic" && !asked)
    source += ", drawn because --data was not given";
  return fmt::format("{}: {} of {} for training, {} for testing", source,
                     counted(run.train_images, "image"), counted(run.classes, "class"),
                     count_text(run.test_images));
}

std::string optimizer(const TrainConfig& c) {
  std::string text = "SGD";
  if (c.optimizer.optimizer == OptimizerChoice::lars)
    text = "LARS, trust coefficient " + setting_text(c.optimizer.lars_trust);
  if (c.optimizer.lars_epsilon > 0 && c.optimizer.optimizer == OptimizerChoice::lars)
    text += ", epsilon " + setting_text(c.optimizer.lars_epsilon);
  text += ", momentum " + setting_text(c.optimizer.momentum);
  if (c.optimizer.nesterov) text += " (Nesterov)";
  text += ", weight decay " + setting_text(c.optimizer.weight_decay);
  if (c.training.label_smoothing > 0)
    text += ", label smoothing " + setting_text(c.training.label_smoothing);
  return text;
}

}  // namespace

std::string input_mode_text(const TrainConfig& config) {
  if (config.data.input == InputMode::resident) return "resident: the device makes each batch";
  if (config.data.input_workers == 0) return "stream: the thread that trains prepares each batch";
  return "stream: batches prepared by " + counted(config.data.input_workers, "host thread") +
         " of each rank";
}

std::string timed_text(const RunRecord& run) {
  const TimedCompute& t = run.timed.value();
  std::string jitter, source;
  if (t.jitter_percent > 0) jitter = fmt::format(" +- {} %", setting_text(t.jitter_percent));
  if (!t.recorded_in.empty()) source = ", as recorded in " + t.recorded_in;
  return fmt::format(
      "NOTHING IS COMPUTED (--backend timed): each rank waits {:.4g} ms{} for forward and backward "
      "of {}{}; communication is real, parameters stay as they are, and there is no loss",
      t.seconds * 1e3, jitter, counted(t.images, "image"), source);
}

std::string start_block(const RunRecord& run) {
  const std::string steps = counted(run.steps_per_epoch, "step") + " per epoch" + last_batch(run);
  const TrainConfig& c = run.config;
  std::string timed;
  if (run.timed) timed = item("timed", timed_text(run));
  return timed + item("model", model(run)) + item("data", data(run)) +
         item("input", input_mode_text(c)) + item("ranks", ranks_and_hosts(run.ranks)) +
         rank_lines(run.ranks) + limits(run.ranks) + item("batch", batch(run) + "; " + steps) +
         item("lr", learning_rate(run)) + item("optimizer", optimizer(c)) +
         item("all-reduce", all_reduce(run)) + item("memory", memory(run.ranks)) +
         item("run in", c.output.run_dir);
}

}  // namespace rueda
