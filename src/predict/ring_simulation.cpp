#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "rueda/core/random.hpp"
#include "rueda/predict/forecast.hpp"

namespace rueda::predict {
namespace {

constexpr unsigned kIndexBits = 12;
constexpr std::size_t kValues = 1U << kIndexBits;
using ExponentialValues = std::array<float, kValues>;

/// An exponential distribution of mean 1 in steps of equal probability, each with the mean of its
/// values: the integral of -log(1-u) is (1-u) log(1-u) + u.
ExponentialValues exponential_values() {
  const auto integral = [](std::size_t i) {
    const double u = double(i) / kValues;
    return i == kValues ? 1.0 : (1 - u) * std::log(1 - u) + u;
  };
  ExponentialValues values{};
  for (std::size_t i = 0; i < kValues; ++i) {
    values[i] = static_cast<float>((integral(i + 1) - integral(i)) * kValues);
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

/// The ranks of a ring, each with the moment at which its last step ended.
class Ranks {
 public:
  explicit Ranks(const RingSimulation& ring)
      : ring_(ring), ended_(ring.ranks, 0.0), before_(ring.ranks, 0.0) {
    for (std::size_t rank = 0; rank < ring.ranks; ++rank) {
      streams_.push_back(static_cast<std::uint32_t>(random_bits(ring.seed, rank)) | 1U);
    }
  }

  /// One step of all ranks; `after` seconds follow each message.
  void step(double after) {
    static const ExponentialValues values = exponential_values();
    std::swap(ended_, before_);
    const double sure = ring_.message_seconds * (1 - ring_.noise) + after;
    const double varies = ring_.message_seconds * ring_.noise;
    double left = before_.back();
    for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
      const double own = before_[rank];
      const float drawn = values[next(streams_[rank]) >> (32U - kIndexBits)];
      ended_[rank] = std::max(own, left) + sure + varies * double(drawn);
      left = own;
    }
  }

  double last() const { return *std::max_element(ended_.begin(), ended_.end()); }

 private:
  RingSimulation ring_;
  std::vector<double> ended_;
  std::vector<double> before_;
  std::vector<std::uint32_t> streams_;
};

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
  return sum / double(rings);
}

double largest_bucket(const CostModel& model) {
  double bytes = 0;
  for (const Bucket& bucket : model.buckets) bytes = std::max(bytes, bucket.bytes);
  return bytes;
}

/// Seconds that a rank adds in a ring.
double adding(std::size_t ranks, double bytes, double gamma) {
  const auto p = double(ranks);
  return (p - 1) / p * bytes * gamma;
}

}  // namespace

double simulate_ring(const RingSimulation& ring) {
  if (ring.ranks <= 1) return 0;
  Ranks ranks(ring);
  for (std::size_t step = 1; step < ring.ranks; ++step) ranks.step(ring.add_seconds);
  for (std::size_t step = 1; step < ring.ranks; ++step) ranks.step(0);
  return ranks.last();
}

double SimulatedSum::delay(double gamma) const noexcept {
  if (ranks == 1) return 0;
  return std::max(0.0, (noisy - closed) / (closed - adding(ranks, bytes, gamma)));
}

SimulatedSum simulate_sum(const CostModel& model, std::size_t ranks, std::uint64_t seed) {
  SimulatedSum sum{.ranks = ranks, .bytes = largest_bucket(model)};
  sum.closed = ring_seconds(model.machine, ranks, sum.bytes);
  if (ranks == 1) return sum;
  const auto steps = double(ranks - 1);
  const double adds = adding(ranks, sum.bytes, model.machine.gamma);
  RingSimulation ring{ranks, (sum.closed - adds) / (2 * steps), adds / steps, 0, seed};
  sum.quiet = simulate_ring(ring);
  ring.noise = model.message_noise;
  sum.rings = rings_for(ranks);
  sum.noisy = mean_seconds(ring, sum.rings);
  return sum;
}

}  // namespace rueda::predict
