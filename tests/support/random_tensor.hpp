#pragma once

#include <cstdint>
#include <vector>

#include "reference_ops.hpp"
#include "rueda/core/random.hpp"
#include "tensor.hpp"

namespace rueda::test {

/// `count` values in [-bound, bound), a function of `key`, each exactly a float, so that fp32 and
/// double start from the same numbers.
inline Vector random_vector(std::uint64_t key, std::size_t count, double bound = 1.0,
                            double centre = 0.0) {
  Vector values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = 2.0 * to_unit(random_bits(key, i)) - 1.0;
    values[i] = double(float(centre + bound * unit));
  }
  return values;
}

inline Tensor random_tensor(std::uint64_t key, int n, const Shape& shape, double bound = 1.0,
                            double centre = 0.0) {
  Tensor t(n, shape);
  t.values = random_vector(key, t.size(), bound, centre);
  return t;
}

inline std::vector<float> to_floats(const Vector& values) {
  std::vector<float> floats;
  floats.reserve(values.size());
  for (const double v : values) floats.push_back(float(v));
  return floats;
}

template <typename Floats>
Vector to_doubles(const Floats& floats) {
  return Vector(floats.begin(), floats.end());
}

}  // namespace rueda::test
