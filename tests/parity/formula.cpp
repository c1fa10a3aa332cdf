#include "formula.hpp"

#include <cmath>
#include <string_view>

#include "rueda/core/random.hpp"

namespace rueda::test {
namespace {

constexpr std::uint64_t kSeed = 20;

/// value = float(centre + amplitude * unit)
struct Range {
  double centre = 0;
  double amplitude = 0;
};

double fan_in(const OriginTensor& tensor, Origin origin) {
  const std::size_t out = origin == Origin::keras ? tensor.shape.back() : tensor.shape.front();
  return double(tensor.elements() / out);
}

Range range_of(const OriginTensor& tensor, Origin origin, double gain) {
  const std::string_view name = tensor.name;
  const bool dense = name.starts_with("linear.") || name.starts_with("predictions/");
  if (tensor.shape.size() == 4) return {0.0, gain * std::sqrt(6.0 / fan_in(tensor, origin))};
  if (tensor.shape.size() == 2) return {0.0, std::sqrt(6.0 / fan_in(tensor, origin))};
  if (name.ends_with("_mean")) return {0.0, 0.25 * gain};
  if (name.ends_with("/gamma") || name.ends_with(".weight")) return {1.0, 0.25};
  if (dense) return {0.0, 0.1};
  if (name.ends_with("/bias")) return {0.0, 0.1 * gain};
  return {0.0, 0.25};
}

}  // namespace

std::uint64_t formula_bits(const std::string& name, std::uint64_t index) {
  return random_bits(kSeed, key_of(name), index);
}

double formula_unit(const std::string& name, std::uint64_t index) {
  return double(formula_bits(name, index) >> 40) * 0x1.0p-23 - 1.0;
}

std::vector<float> formula_values(const OriginTensor& tensor, Origin origin, double gain) {
  const bool variance = tensor.name.ends_with("_var") || tensor.name.ends_with("_variance");
  const Range range = range_of(tensor, origin, gain);
  std::vector<float> values(tensor.elements());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double u = formula_unit(tensor.name, i);
    values[i] =
        float(variance ? gain * gain * (1.0 + 0.5 * u) : range.centre + range.amplitude * u);
  }
  return values;
}

ImageSet formula_images(std::size_t count) {
  ImageSet set;
  set.pixels.reserve(count * kImageBytes);
  for (std::size_t i = 0; i < count * kImageBytes; ++i) {
    set.pixels.push_back(std::uint8_t(formula_bits("image", i) >> 56));
  }
  for (std::size_t n = 0; n < count; ++n) {
    set.labels.push_back(std::uint8_t(formula_bits("label", n) % 10));
  }
  return set;
}

}  // namespace rueda::test
