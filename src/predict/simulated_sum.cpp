#include "rueda/predict/simulated_sum.hpp"

#include <algorithm>

#include "ring_simulation.hpp"

namespace rueda::predict {
namespace {

/// Updates of ranks in the rings of one P, above which one ring has to do.
constexpr std::size_t kManyUpdates = 4'000'000;
constexpr std::size_t kMostRings = 1000;

std::size_t rings_for(std::size_t ranks) {
  return std::clamp<std::size_t>(kManyUpdates / (2 * ranks * ranks), 1, kMostRings);
}

/// Mean over several rings.
double mean_seconds(RingSimulation ring, std::size_t rings) {
  double sum = 0;
  for (std::size_t i = 0; i < rings; ++i, ++ring.seed) sum += simulate_ring(ring);
  return sum / static_cast<double>(rings);
}

double largest_bucket(const CostModel& model) {
  double bytes = 0;
  for (const Bucket& bucket : model.buckets) bytes = std::max(bytes, bucket.bytes);
  return bytes;
}

/// Seconds that a rank adds in a ring.
double adding(std::size_t ranks, double bytes, double gamma) {
  const auto p = static_cast<double>(ranks);
  return (p - 1) / p * bytes * gamma;
}

}  // namespace

double SimulatedSum::delay(double gamma) const noexcept {
  if (ranks == 1) return 0;
  return std::max(0.0, (noisy - closed) / (closed - adding(ranks, bytes, gamma)));
}

SimulatedSum simulate_sum(const CostModel& model, std::size_t ranks, std::uint64_t seed) {
  SimulatedSum sum{.ranks = ranks, .bytes = largest_bucket(model)};
  sum.closed = ring_seconds(model.machine, ranks, sum.bytes);
  if (ranks == 1) return sum;
  const auto steps = static_cast<double>(ranks - 1);
  const double adds = adding(ranks, sum.bytes, model.machine.gamma);
  RingSimulation ring{ranks, (sum.closed - adds) / (2 * steps), adds / steps, 0, seed};
  sum.quiet = simulate_ring(ring);
  ring.noise = model.message_noise;
  sum.rings = rings_for(ranks);
  sum.noisy = mean_seconds(ring, sum.rings);
  return sum;
}

}  // namespace rueda::predict
