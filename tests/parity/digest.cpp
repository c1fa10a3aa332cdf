#include "digest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "formula.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/random.hpp"

namespace rueda::test {
namespace {

std::array<double, kProjections> project(const std::string& name, std::span<const float> values) {
  const std::string key = "sign/" + name;
  std::array<double, kProjections> sums{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t signs = formula_bits(key, i);
    const auto value = static_cast<double>(values[i]);
    for (std::size_t k = 0; k < kProjections; ++k) {
      sums[k] += ((signs >> k) & 1U) != 0 ? value : -value;
    }
  }
  return sums;
}

}  // namespace

Digest read_digest(const nlohmann::json& json) {
  Digest digest;
  digest.norm = json.at("norm");
  digest.projections = json.at("projections").get<std::array<double, kProjections>>();
  digest.samples = json.at("samples").get<std::vector<double>>();
  digest.framework_error = json.value("framework_error", 0.0);
  return digest;
}

nlohmann::json read_reference(const std::string& name) {
  // Carried to another machine, they lie elsewhere than where this was compiled.
  const char* folder = std::getenv("RUEDA_PARITY_REFERENCE");
  const std::string path =
      std::string(folder == nullptr ? RUEDA_PARITY_REFERENCE : folder) + "/" + name + ".json";
  std::ifstream file(path);
  if (!file) throw InputError(path + " can not be read: run jobs/check/parity.sh --update");
  return nlohmann::json::parse(file);
}

Deviation deviation(const std::string& name, std::span<const float> values, const Digest& digest) {
  const auto projections = project(name, values);
  double squares = 0;
  for (std::size_t k = 0; k < kProjections; ++k) {
    squares += std::pow(projections[k] - digest.projections[k], 2);
  }
  double norm = std::sqrt(squares / kProjections);
  const std::string key = "sample/" + name;
  const auto count = static_cast<std::uint32_t>(values.size());
  for (std::size_t j = 0; j < digest.samples.size(); ++j) {
    const float value = values[to_below(formula_bits(key, j), count)];
    norm = std::max(norm, std::abs(static_cast<double>(value) - digest.samples[j]));
  }
  if (std::isnan(norm)) norm = std::numeric_limits<double>::infinity();
  return {.norm = norm, .relative = norm / digest.norm};
}

}  // namespace rueda::test
