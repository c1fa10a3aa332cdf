#include "predict/forecast.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/random.hpp"
#include "base/split.hpp"
#include "model/flops.hpp"
#include "reduce/doubling_plan.hpp"
#include "rueda/backend/gradient_arena.hpp"

namespace rueda::predict {
namespace {

std::vector<double> bucket_seconds(const CostModel& model, const Scenario& scenario) {
  Machine messages_alone = model.machine;
  messages_alone.gamma = 0;
  std::vector<double> seconds;
  for (const Bucket& bucket : model.buckets) {
    double sum = all_reduce_seconds(scenario.scheme, model.machine, scenario.ranks, bucket.bytes);
    if (scenario.message_delay > 0) {
      sum += scenario.message_delay *
             all_reduce_seconds(scenario.scheme, messages_alone, scenario.ranks, bucket.bytes);
    }
    seconds.push_back(sum);
  }
  return seconds;
}

std::vector<Bucket> schedule_of(const Graph& graph, const std::vector<std::size_t>& ends) {
  const auto completing = completing_nodes(graph, ends);
  const auto all = double(forward_flops(graph));
  std::vector<Bucket> buckets;
  std::size_t begin = 0;
  double done = 0;
  NodeId next = graph.logits();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (; next >= completing[i]; --next) done += double(forward_flops(graph, next));
    buckets.push_back({double((ends[i] - begin) * sizeof(float)), done / all});
    begin = ends[i];
  }
  return buckets;
}

/// Seconds of one step of a ring whose every rank sends `bytes` to its neighbour.
double ring_step(const Machine& machine, std::size_t ranks, double bytes) {
  const double inside = machine.inside.message_seconds(bytes);
  const double between = machine.between.message_seconds(bytes);
  if (!machine.spans_nodes(ranks)) return inside;
  if (machine.ranks_per_node == 1) return between;
  return std::max(inside, between);
}

/// Seconds of a message between nodes while `senders` ranks of a node send one each.
double shared_message(const Machine& machine, std::size_t senders, double bytes) {
  const double share = double(senders) / double(machine.links_per_node);
  return machine.between.alpha + bytes * machine.between.beta * std::max(share, 1.0);
}

constexpr unsigned kIndexBits = 12;
constexpr std::size_t kValues = 1U << kIndexBits;

/// Of -log(1-u) from 0 to i / kValues: (1-u) log(1-u) + u.
double integral_to(std::size_t i) {
  if (i == kValues) return 1;
  const double u = double(i) / kValues;
  return (1 - u) * std::log(1 - u) + u;
}

/// An exponential distribution of mean 1 in steps of equal probability, each
/// with the mean of its values.
std::array<float, kValues> exponential_values() {
  std::array<float, kValues> values{};
  for (std::size_t i = 0; i < kValues; ++i)
    values[i] = float((integral_to(i + 1) - integral_to(i)) * kValues);
  return values;
}

/// xorshift32 (G. Marsaglia: Xorshift RNGs, *Journal of Statistical Software*
/// 8(14), 2003): a rank has a stream of its own, which costs three shifts a
/// draw.
std::uint32_t next(std::uint32_t& state) {
  state ^= state << 13U;
  state ^= state >> 17U;
  state ^= state << 5U;
  return state;
}

/// Updates of ranks in the rings of one P, above which one ring has to do.
constexpr std::size_t kManyUpdates = 4'000'000;
constexpr std::size_t kMostRings = 1000;

}  // namespace

Distribution Distribution::of_sample(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("a distribution of no values");
  if (values.size() == 1) return Distribution(values.front());
  std::sort(values.begin(), values.end());
  std::vector<Knot> knots;
  for (const double value : values)
    knots.push_back({double(knots.size()) / double(values.size() - 1), value});
  return Distribution(std::move(knots));
}

Distribution Distribution::of_spread(const Spread& spread) {
  if (spread.count == 0) throw std::invalid_argument("a distribution of no values");
  return Distribution(
      std::vector<Knot>{{0, spread.min}, {0.5, spread.median}, {0.9, spread.p90}, {1, spread.max}});
}

double Distribution::quantile(double u) const {
  const auto above =
      std::ranges::upper_bound(knots_.begin() + 1, knots_.end() - 1, u, {}, &Knot::u);
  const Knot& to = *above;
  const Knot& from = *(above - 1);
  return from.value + (to.value - from.value) * (u - from.u) / (to.u - from.u);
}

double Distribution::expected_max(double count) const {
  double sum = 0;
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    const Knot& a = knots_[i - 1];
    const Knot& b = knots_[i];
    const double slope = (b.value - a.value) / (b.u - a.u);
    sum += (a.value - slope * a.u) * (std::pow(b.u, count) - std::pow(a.u, count)) +
           slope * count / (count + 1) * (std::pow(b.u, count + 1) - std::pow(a.u, count + 1));
  }
  return sum;
}

Distribution Distribution::spread_by(double factor) const {
  const double middle = mean();
  std::vector<Knot> knots = knots_;
  for (Knot& knot : knots) knot.value = middle + factor * (knot.value - middle);
  return Distribution(std::move(knots));
}

std::vector<Bucket> bucket_schedule(const Graph& graph, std::size_t most_bytes) {
  return schedule_of(graph, plan_buckets(graph, {.most_bytes = most_bytes}));
}

std::vector<Bucket> bucket_schedule(const Graph& graph, std::span<const std::size_t> bytes) {
  std::vector<std::size_t> ends;
  std::vector<Bucket> unknown;
  std::size_t end = 0;
  for (const std::size_t b : bytes) {
    end += b / sizeof(float);
    ends.push_back(end);
    unknown.push_back({double(b), 1});
  }
  const std::size_t slots = end - GradientLayout(graph).slots_offset();
  if (slots > kMostSlots * kSlotFloats) return unknown;
  return schedule_of(graph, ends);
}

BucketTimes run_buckets(std::span<const Bucket> buckets, std::span<const double> seconds,
                        double backward, bool overlap) {
  BucketTimes times;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    double ready = backward;
    if (overlap) ready *= buckets[i].ready;
    times.ended = std::max(times.ended, ready) + seconds[i];
    times.all_reduce += seconds[i];
  }
  times.exposed = std::max(0.0, times.ended - backward);
  return times;
}

double choose_bucket_mb(const Graph& graph, const Link& sum, double backward) {
  constexpr double kAsGood = 1.01;
  double chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const double mb : {0.0, 50.0, 25.0, 18.0, 12.0, 10.0, 8.0, 5.0, 3.0, 2.0, 1.0, 0.5, 0.2}) {
    const auto buckets = bucket_schedule(graph, std::size_t(mb * 1e6));
    std::vector<double> seconds;
    for (const Bucket& bucket : buckets) seconds.push_back(sum.message_seconds(bucket.bytes));
    const double ended = run_buckets(buckets, seconds, backward, true).ended;
    if (ended * kAsGood >= least) continue;
    least = ended;
    chosen = mb;
  }
  return chosen;
}

StepForecast forecast_step(const CostModel& model, const Scenario& scenario, std::size_t images) {
  const auto micro = double(scenario.micro_batches);
  const auto share = double(pieces(images, scenario.ranks));          // the largest
  const bool by_speed = model.shares_by_speed && scenario.ranks > 1;  // one has nothing to share
  ComputeModel of_rank = model.compute;
  if (by_speed) of_rank.slow_down_images(model.by_speed->images);
  const double compute = of_rank.compute_seconds(share / micro);
  StepForecast step{.compute = micro * compute, .rest = of_rank.other_seconds(share)};
  const Distribution& noise = by_speed ? model.by_speed->noise : model.noise;
  const double slowest = noise.expected_max(double(scenario.ranks)) / noise.mean();
  step.straggling = (step.compute + step.rest) * (slowest - 1);
  const BucketTimes times = run_buckets(model.buckets, bucket_seconds(model, scenario),
                                        of_rank.backward_share * compute, scenario.overlap);
  step.all_reduce = times.all_reduce;
  step.exposed = times.exposed;
  return step;
}

EpochForecast forecast_epoch(const CostModel& model, const Scenario& scenario) {
  EpochForecast epoch{.scenario = scenario,
                      .full_steps = scenario.images / scenario.global_batch,
                      .partial_images = scenario.images % scenario.global_batch};
  if (epoch.partial_images > 0)
    epoch.partial = forecast_step(model, scenario, epoch.partial_images);
  epoch.full = epoch.partial;
  if (epoch.full_steps > 0) epoch.full = forecast_step(model, scenario, scenario.global_batch);
  epoch.seconds = double(epoch.full_steps) * epoch.full.seconds() + epoch.partial.seconds();
  return epoch;
}

double added_bytes(std::size_t ranks, double bytes) noexcept {
  const auto p = double(ranks);
  return (p - 1) / p * bytes;
}

double ring_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  const double chunk = bytes / double(ranks);
  return double(ranks - 1) * (2 * ring_step(machine, ranks, chunk) + chunk * machine.gamma);
}

double segmented_ring_seconds(const Machine& machine, std::size_t ranks, double bytes,
                              std::size_t segments) {
  if (ranks <= 1 || segments <= 1) return ring_seconds(machine, ranks, bytes);
  const auto steps = double(ranks - 1);
  const double chunk = bytes / double(ranks);
  const double segment = chunk / double(segments);
  const double message = ring_step(machine, ranks, segment);
  const double addition = segment * machine.gamma;
  const double scatter = steps * double(segments) * std::max(message, addition);
  return scatter + std::min(message, addition) + steps * ring_step(machine, ranks, chunk);
}

std::size_t best_segment_bytes(const Machine& machine, std::size_t ranks) {
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  for (std::size_t chunk = sizeof(float); chunk <= kMost; chunk *= 2) {
    const double bytes = double(chunk) * double(ranks);
    if (segmented_ring_seconds(machine, ranks, bytes, 2) < ring_seconds(machine, ranks, bytes))
      return chunk;
  }
  return 0;
}

double hierarchical_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  const std::size_t local = std::min(machine.ranks_per_node, ranks);
  if (local <= 1 || !machine.spans_nodes(ranks)) return ring_seconds(machine, ranks, bytes);
  const std::size_t nodes = pieces(ranks, local);
  const double shard = bytes / double(local);
  const double chunk = shard / double(nodes);
  const double inside = 2 * machine.inside.message_seconds(shard) + shard * machine.gamma;
  const double between = 2 * shared_message(machine, local, chunk) + chunk * machine.gamma;
  return double(local - 1) * inside + double(nodes - 1) * between;
}

double doubling_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  const DoublingBlock block{0, int(ranks)};
  double message = machine.inside.message_seconds(bytes);
  if (machine.spans_nodes(ranks)) message = shared_message(machine, machine.ranks_per_node, bytes);
  const double left = doubling_seconds(machine, std::size_t(block.left().count), bytes);
  const double right = doubling_seconds(machine, std::size_t(block.right().count), bytes);
  const double spreads = block.spreads() * message;
  return std::max(left, right) + message + bytes * machine.gamma + spreads;
}

double all_reduce_seconds(Scheme scheme, const Machine& machine, std::size_t ranks, double bytes) {
  constexpr std::array kSchemes = {ring_seconds, hierarchical_seconds, doubling_seconds};
  if (scheme != Scheme::best) return kSchemes.at(std::size_t(scheme))(machine, ranks, bytes);
  double least = std::numeric_limits<double>::infinity();
  for (const auto seconds : kSchemes) least = std::min(least, seconds(machine, ranks, bytes));
  return least;
}

double simulate_ring(const RingSimulation& ring) {
  static const auto values = exponential_values();
  if (ring.ranks <= 1) return 0;
  std::vector<std::uint32_t> streams;
  for (std::size_t rank = 0; rank < ring.ranks; ++rank)
    streams.push_back(std::uint32_t(random_bits(ring.seed, rank)) | 1U);
  std::vector<double> ended(ring.ranks, 0.0);  // when the last step of each rank ended
  const double varies = ring.message_seconds * ring.noise;
  const std::size_t steps = 2 * (ring.ranks - 1);
  for (std::size_t step = 0; step < steps; ++step) {
    const double after = step < steps / 2 ? ring.add_seconds : 0;
    const double sure = ring.message_seconds * (1 - ring.noise) + after;
    double left = ended.back();
    for (std::size_t rank = 0; rank < ring.ranks; ++rank) {
      const float drawn = values[next(streams[rank]) >> (32U - kIndexBits)];
      const double begun = std::max(ended[rank], left);
      left = std::exchange(ended[rank], begun + sure + varies * double(drawn));
    }
  }
  return std::ranges::max(ended);
}

double SimulatedSum::delay(double gamma) const noexcept {
  if (ranks == 1) return 0;
  return std::max(0.0, (noisy - closed) / (closed - added_bytes(ranks, bytes) * gamma));
}

SimulatedSum simulate_sum(const CostModel& model, std::size_t ranks, std::uint64_t seed) {
  SimulatedSum sum{.ranks = ranks,
                   .bytes = std::ranges::max(model.buckets, {}, &Bucket::bytes).bytes};
  sum.closed = ring_seconds(model.machine, ranks, sum.bytes);
  if (ranks <= 1) return sum;
  const auto steps = double(ranks - 1);
  const double adds = added_bytes(ranks, sum.bytes) * model.machine.gamma;
  RingSimulation ring{ranks, (sum.closed - adds) / (2 * steps), adds / steps, 0, seed};
  sum.quiet = simulate_ring(ring);
  ring.noise = model.message_noise;
  sum.rings = std::clamp<std::size_t>(kManyUpdates / (2 * ranks * ranks), 1, kMostRings);
  for (std::size_t i = 0; i < sum.rings; ++i, ++ring.seed) sum.noisy += simulate_ring(ring);
  sum.noisy /= double(sum.rings);
  return sum;
}

}  // namespace rueda::predict
