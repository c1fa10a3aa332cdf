#include <cmath>
#include <numbers>
#include <vector>

#include "backend/replica.hpp"
#include "base/random.hpp"

namespace rueda {
namespace {

/// Uniform in [-bound, bound).
double uniform(std::uint64_t bits, double bound) { return (2.0 * to_unit(bits) - 1.0) * bound; }

/// Standard normal by Box and Muller (1958), one value per key.
double normal(std::uint64_t bits) {
  const double u = 1.0 - to_unit(bits);  // in (0, 1]: its logarithm is finite
  const double v = to_unit(mix64(bits));
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

double draw(const Parameter& p, std::uint64_t bits) {
  if (p.init == Init::he_normal) return normal(bits) * std::sqrt(2.0 / p.fan_in);
  if (p.init == Init::fan_in_uniform) return uniform(bits, 1.0 / std::sqrt(p.fan_in));
  if (p.init == Init::glorot_uniform) return uniform(bits, std::sqrt(6.0 / (p.fan_in + p.fan_out)));
  return p.init == Init::ones ? 1.0 : 0.0;
}

}  // namespace

void Replica::initialise(std::uint64_t seed) {
  std::vector<float> values(graph_.parameter_count());
  for (const Parameter& p : graph_.parameters()) {
    const std::uint64_t key = key_of(p.name);
    for (std::size_t i = 0; i < p.count; ++i)
      values[p.offset + i] = float(draw(p, random_bits(seed, key, i)));
  }
  backend_.upload(parameters(), values);
  const auto one = [](const BatchNormNode&, const Shape&) { return 1.0F; };
  backend_.upload(running_statistics(), for_variances(one));
  parameters_changed();
}

}  // namespace rueda
