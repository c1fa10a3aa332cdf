#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "rueda/core/random.hpp"
#include "rueda/predict/forecast.hpp"

namespace rueda::predict {
namespace {

/// Seconds of one step of a ring whose every rank sends `bytes` to its neighbour.
double ring_step(const Machine& machine, std::size_t ranks, double bytes) {
  const double inside = machine.inside.message_seconds(bytes);
  const double between = machine.between.message_seconds(bytes);
  if (!machine.spans_nodes(ranks)) return inside;
  return machine.ranks_per_node == 1 ? between : std::max(inside, between);
}

/// Seconds of a message between nodes while `senders` ranks of a node send one each.
double shared_message(const Machine& machine, std::size_t senders, double bytes) {
  const double share = double(senders) / double(machine.links_per_node);
  return machine.between.alpha + bytes * machine.between.beta * std::max(share, 1.0);
}

constexpr unsigned kIndexBits = 12;
constexpr std::size_t kValues = 1U << kIndexBits;

/// An exponential distribution of mean 1 in steps of equal probability, each with the mean of its
/// values: the integral of -log(1-u) is (1-u) log(1-u) + u.
std::array<float, kValues> exponential_values() {
  const auto integral = [](std::size_t i) {
    const double u = double(i) / kValues;
    return i == kValues ? 1.0 : (1 - u) * std::log(1 - u) + u;
  };
  std::array<float, kValues> values{};
  for (std::size_t i = 0; i < kValues; ++i) {
    values[i] = float((integral(i + 1) - integral(i)) * kValues);
  }
  return values;
}

/// xorshift32 (G. Marsaglia: Xorshift RNGs, *Journal of Statistical Software* 8(14), 2003): a rank
/// has a stream of its own, which costs three shifts a draw.
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

const char* to_string(Scheme scheme) {
  constexpr std::array kWords = {"ring", "hierarchical", "doubling", "best"};
  return kWords.at(std::size_t(scheme));
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

double hierarchical_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  const std::size_t local = std::min(machine.ranks_per_node, ranks);
  if (local <= 1 || !machine.spans_nodes(ranks)) return ring_seconds(machine, ranks, bytes);
  const std::size_t nodes = (ranks + local - 1) / local;
  const double shard = bytes / double(local);
  const double chunk = shard / double(nodes);
  const double inside = 2 * machine.inside.message_seconds(shard) + shard * machine.gamma;
  const double between = 2 * shared_message(machine, local, chunk) + chunk * machine.gamma;
  return double(local - 1) * inside + double(nodes - 1) * between;
}

double doubling_seconds(const Machine& machine, std::size_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  const std::size_t left = std::bit_floor(ranks - 1);  // sums apart from the rest
  const std::size_t right = ranks - left;
  const double message = machine.spans_nodes(ranks)
                             ? shared_message(machine, machine.ranks_per_node, bytes)
                             : machine.inside.message_seconds(bytes);
  // How often the ranks that have the sum double until all of the left part have it.
  const auto copies = double(std::bit_width((left - 1) / right));
  const double parts =
      std::max(doubling_seconds(machine, left, bytes), doubling_seconds(machine, right, bytes));
  return parts + message + bytes * machine.gamma + copies * message;
}

double all_reduce_seconds(Scheme scheme, const Machine& machine, std::size_t ranks, double bytes) {
  constexpr std::array kSchemes = {ring_seconds, hierarchical_seconds, doubling_seconds};
  const auto seconds = [&](const auto& scheme_seconds) {
    return scheme_seconds(machine, ranks, bytes);
  };
  return scheme == Scheme::best ? seconds(*std::ranges::min_element(kSchemes, {}, seconds))
                                : seconds(kSchemes.at(std::size_t(scheme)));
}

double simulate_ring(const RingSimulation& ring) {
  static const auto values = exponential_values();
  if (ring.ranks <= 1) return 0;
  std::vector<std::uint32_t> streams;
  for (std::size_t rank = 0; rank < ring.ranks; ++rank) {
    streams.push_back(std::uint32_t(random_bits(ring.seed, rank)) | 1U);
  }
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
  if (ranks == 1) return sum;
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
