#include "data/sampler.hpp"

#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

void check(const SamplerOptions& o) {
  require(o.parts > 0 && o.global_batch > 0,
          "the global batch and the number of ranks must be at least 1");
  require(o.samples <= UINT32_MAX,
          fmt::format("{} samples are more than a sampler can number", o.samples));
  require(
      o.samples >= o.parts,
      fmt::format("the training set has {}, fewer than the {} parts (ranks x micro-batches) that "
                  "share it: start fewer ranks, lower --accumulate or raise --data-limit",
                  counted(o.samples, "image"), o.parts));
  require(o.global_batch >= o.parts,
          fmt::format("global batch {} is smaller than its {} parts (ranks x micro-batches): some "
                      "ranks would never get a sample; raise --global-batch, start fewer ranks or "
                      "lower --accumulate",
                      o.global_batch, o.parts));
  require(
      o.last_batch == LastBatch::keep || o.samples >= o.global_batch,
      fmt::format("no step remains: the training set has {}, the global batch {}, and --last-batch "
                  "drop leaves a partial batch out; lower --global-batch or --batch-per-rank, or "
                  "leave --last-batch at keep",
                  counted(o.samples, "image"), o.global_batch));
}

/// Fisher-Yates; swap i is drawn from the keys and i alone.
template <typename... Keys>
void shuffle(std::span<std::uint32_t> items, std::uint64_t seed, Keys... keys) {
  for (std::size_t i = items.size(); i-- > 1;) {
    const auto bound = std::uint32_t(i + 1);
    std::swap(items[i], items[to_below(random_bits(seed, key_of("order"), keys..., i), bound)]);
  }
}

}  // namespace

Range SamplerOptions::part_of(std::size_t total, std::size_t part) const noexcept {
  if (shares.empty()) return even_split(total, parts, part);
  const std::size_t micro_batches = parts / shares.size();
  const Range of_rank = share_of(total, shares, part / micro_batches);
  const Range inside = even_split(of_rank.size(), micro_batches, part % micro_batches);
  return {of_rank.begin + inside.begin, of_rank.begin + inside.end};
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  check(options);
  order_.resize(options.samples);
  const std::size_t full_steps = options.samples / options.global_batch;
  const std::size_t in_full_steps = full_steps * options.global_batch;
  used_ = options.samples;
  if (options.last_batch == LastBatch::drop) used_ = in_full_steps;
  steps_ = full_steps;
  if (used_ > in_full_steps) ++steps_;
  set_epoch(0);
}

std::vector<std::size_t> Sampler::part_sizes(std::size_t part) const {
  const std::size_t first = part_samples(0, part);
  const std::size_t last = part_samples(steps_ - 1, part);
  if (first == last) return {first};
  return {first, last};
}

Range Sampler::slice_of(std::size_t part) const noexcept {
  // What `part` would draw in an epoch that keeps its last batch. The sums over
  // steps are closed: all full steps are cut alike. With `drop` a slice thus
  // keeps a few samples in reserve, others in every epoch, instead of a tail of
  // the data set that no epoch would ever see.
  const std::size_t full_steps = options_.samples / options_.global_batch;
  const Range full = even_split(options_.global_batch, options_.parts, part);
  const Range rest = even_split(options_.samples % options_.global_batch, options_.parts, part);
  return {full_steps * full.begin + rest.begin, full_steps * full.end + rest.end};
}

void Sampler::set_epoch(std::size_t epoch) {
  std::iota(order_.begin(), order_.end(), 0U);
  if (!options_.shuffle) return;
  const std::span<std::uint32_t> all(order_);
  if (options_.shard == Shard::step) return shuffle(all, options_.seed, epoch);
  for (std::size_t part = 0; part < options_.parts; ++part) {
    const Range slice = slice_of(part);
    shuffle(all.subspan(slice.begin, slice.size()), options_.seed, epoch, part);
  }
}

std::vector<std::uint32_t> Sampler::indices(std::size_t step, std::size_t part) const {
  if (step >= steps_ || part >= options_.parts) return {};
  const std::size_t batch = options_.global_batch;
  std::size_t first = 0;
  if (options_.shard == Shard::step)
    first = step * batch + options_.part_of(step_samples(step), part).begin;
  else
    first = slice_of(part).begin + step * even_split(batch, options_.parts, part).size();
  const auto begin = order_.begin() + std::ptrdiff_t(first);
  return {begin, begin + std::ptrdiff_t(part_samples(step, part))};
}

}  // namespace rueda
