#include "train/run_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "backend/replica.hpp"
#include "base/error.hpp"
#include "base/split.hpp"
#include "base/text.hpp"
#include "reduce/ring_plan.hpp"
#include "reduce/tree_order.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "train/balance.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

/// A fault that would never come would look like a check that misses it.
void require_reachable(const InjectedFault& fault, const RunPlan& plan) {
  if (fault.kind == InjectedFault::Kind::none) return;
  const std::size_t steps = plan.schedule.epochs * plan.schedule.steps_per_epoch;
  if (fault.kind == InjectedFault::Kind::corrupt_message && plan.world == 1)
    throw InputError(std::string(kFaultVariable) +
                     "=corrupt-message: one rank gets no messages, start two or more");
  require(std::size_t(fault.rank) < plan.world && fault.step <= steps,
          fmt::format("{} names rank {}, step {}, but this run has ranks 0 to {} and steps 1 to {}",
                      kFaultVariable, fault.rank, fault.step, plan.world - 1, steps));
}

/// In whole images; none with --balance equal.
std::vector<std::size_t> shares_of(const Balance& balance, std::vector<double> parts,
                                   const RunPlan& plan) {
  if (balance.equal()) return {};
  if (parts.empty()) parts = balance.parts;
  if (parts.empty()) parts.assign(plan.world, 1);  // until speeds are known
  require(
      parts.size() == plan.world,
      fmt::format("--balance names the parts of {0}, and this run has {1}: give a number for each, "
                  "or start {0}",
                  counted(parts.size(), "rank"), counted(plan.world, "rank")));
  require(plan.global_batch >= plan.world,
          fmt::format("global batch {} has no image for each of {}: raise --global-batch or "
                      "--batch-per-rank, or start fewer ranks",
                      plan.global_batch, counted(plan.world, "rank")));
  return images_in_parts(parts, plan.global_batch);
}

}  // namespace

std::size_t RunPlan::rank_samples(std::size_t step_samples, std::size_t rank) const noexcept {
  std::size_t samples = 0;
  for (std::size_t k = 0; k < micro_batches; ++k)
    samples += sampler.part_of(step_samples, virtual_rank(rank, k)).size();
  return samples;
}

std::size_t RunPlan::largest_micro_batch_of_all() const noexcept {
  std::size_t largest = 0;
  for (std::size_t rank = 0; rank < world; ++rank)
    largest = std::max(largest, largest_micro_batch(rank));
  return largest;
}

std::vector<std::size_t> RunPlan::rank_batches() const {
  std::vector<std::size_t> batches;
  for (std::size_t rank = 0; rank < world; ++rank)
    batches.push_back(rank_samples(global_batch, rank));
  return batches;
}

RunPlan plan_run(const TrainConfig& config, std::size_t world, std::size_t train_images,
                 const std::vector<double>& parts) {
  RunPlan plan;
  plan.world = world;
  plan.micro_batches = config.batch.accumulate;
  const std::size_t virtual_ranks = world * config.batch.accumulate;
  plan.global_batch = config.batch.global;
  if (plan.global_batch == 0) plan.global_batch = config.batch.per_rank * virtual_ranks;
  plan.sampler = {.samples = train_images,
                  .global_batch = plan.global_batch,
                  .parts = virtual_ranks,
                  .shares = shares_of(config.batch.balance, parts, plan),
                  .seed = config.training.seed,
                  .shuffle = config.data.shuffle,
                  .shard = config.data.shard,
                  .last_batch = config.data.last_batch};
  double rate = config.optimizer.lr;
  if (config.optimizer.scale_lr == ScaleLr::linear)
    rate = rate * double(plan.global_batch) / double(config.optimizer.base_batch);
  plan.schedule = {.base_rate = rate,
                   .schedule = config.optimizer.lr_schedule,
                   .warmup_epochs = config.optimizer.warmup_epochs,
                   .epochs = config.training.epochs,
                   .steps_per_epoch = Sampler(plan.sampler).steps_per_epoch()};
  require_reachable(config.checks.fault, plan);
  return plan;
}

std::string remark_on_rate(const TrainConfig& config, const RunPlan& plan) {
  const std::size_t images = plan.sampler.samples;
  if (config.optimizer.scale_lr != ScaleLr::linear || plan.global_batch <= images) return "";
  return fmt::format(
      "the learning rate {:.4g} is scaled for a global batch of {}, but no step has more than the "
      "{} training images: lower --batch-per-rank or --global-batch, or use --scale-lr none",
      plan.schedule.base_rate, plan.global_batch, images);
}

std::vector<std::size_t> micro_batch_sizes(const RunPlan& plan, const Sampler& sampler,
                                           std::size_t rank) {
  std::vector<std::size_t> sizes;
  for (std::size_t k = 0; k < plan.micro_batches; ++k) {
    for (const std::size_t size : sampler.part_sizes(plan.virtual_rank(rank, k)))
      if (std::ranges::count(sizes, size) == 0) sizes.push_back(size);
  }
  return sizes;
}

EvaluationPlan plan_evaluation(std::size_t test_images, std::size_t world, std::size_t rank,
                               std::size_t batch, const std::vector<std::size_t>& shares) {
  constexpr std::size_t kMostImages = 256;
  const std::size_t size = std::clamp<std::size_t>(batch, 1, kMostImages);
  const std::size_t batches = pieces(test_images, size);
  const auto [begin, end] =
      shares.empty() ? even_split(batches, world, rank) : share_of(batches, shares, rank);
  return {{std::min(begin * size, test_images), std::min(end * size, test_images)}, size};
}

std::vector<std::size_t> EvaluationPlan::batch_sizes() const {
  std::vector<std::size_t> sizes;
  if (share.size() >= batch) sizes.push_back(batch);
  if (share.size() % batch != 0) sizes.push_back(share.size() % batch);
  return sizes;
}

MemoryNeed training_memory(MemoryNeed replica, const Graph& graph, std::size_t micro_batches,
                           std::size_t message_floats, std::size_t image_bytes) {
  std::size_t slots = 0;
  if (micro_batches > 1) slots = TreeOrder::slots_needed(micro_batches);
  const GradientLayout layout(graph);
  replica.optimizer = layout.parameter_memory() * sizeof(float);
  replica.accumulation = slots * layout.slots_offset() * sizeof(float);
  replica.messages = message_floats * sizeof(float);
  replica.images = image_bytes;
  return replica;
}

MemoryNeed usual_training_memory(const Graph& graph, Backend& backend, std::size_t batch, int ranks,
                                 Recompute recompute) {
  backend.forget_plans();
  const ReplicaPlan plan(graph, backend, {batch}, {batch}, recompute, std::size_t(ranks));
  return training_memory(plan.memory(), graph, 1, ring_scratch_floats(plan.layout().total(), ranks),
                         backend.image_bytes(kOfficialTrainImages + kOfficialTestImages));
}

std::size_t largest_batch(std::size_t bytes, std::size_t most,
                          const std::function<MemoryNeed(std::size_t batch)>& need) {
  const std::size_t first = need(1).total();
  if (first > bytes || most == 0) return 0;
  if (most == 1) return 1;
  const std::size_t probe = std::min<std::size_t>(9, most);
  const std::size_t per_image =
      std::max<std::size_t>(1, (need(probe).total() - first) / (probe - 1));
  std::size_t fits = 1;
  std::size_t fails = most + 1;
  std::size_t trial = 1 + (bytes - first) / per_image;
  // From where the straight line points, in growing strides until the answer is
  // bracketed, then by halves.
  for (std::size_t stride = 1; fails - fits > 1; stride *= 2) {
    if (trial <= fits || trial >= fails) trial = fits + (fails - fits) / 2;
    if (need(trial).total() <= bytes) {
      fits = trial;
      trial += stride;
    } else {
      fails = trial;
      trial -= std::min(trial, stride);
    }
  }
  return fits;
}

}  // namespace rueda
