#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rueda::test {

inline constexpr std::size_t kProjections = 8;

/// What is stored of a tensor of the reference: its L2 norm, sums under random signs, a few
/// elements; and how far the framework's own fp32 run is from it, relative to the norm.
struct Digest {
  double norm = 0;
  std::array<double, kProjections> projections{};
  std::vector<double> samples;
  double framework_error = 0;
};

/// Reads a digest; throws nlohmann::json::exception where one is not as it should be.
Digest read_digest(const nlohmann::json& json);

/// Reads tests/parity/reference/<name>.json. Throws InputError if there is no such file.
nlohmann::json read_reference(const std::string& name);

/// How far a tensor is from a digest of the same name.
struct Deviation {
  /// The norm of the difference: the root mean square of the differences of the projections,
  /// which estimates it (a random sign for every element leaves their squares alone), or the
  /// largest difference of an element, if that is more. Infinite for NaN.
  double norm = 0;
  double relative = 0;  ///< to the norm of the reference
};

/// `values` in the origin's order; `name` is the one that the digest was made with.
Deviation deviation(const std::string& name, std::span<const float> values, const Digest& digest);

}  // namespace rueda::test
