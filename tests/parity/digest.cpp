#include "digest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/random.hpp"

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
  for (std::size_t i = 0; i < count * kImageBytes; ++i)
    set.pixels.push_back(std::uint8_t(formula_bits("image", i) >> 56));
  for (std::size_t n = 0; n < count; ++n)
    set.labels.push_back(std::uint8_t(formula_bits("label", n) % 10));
  return set;
}

namespace {

std::array<double, kProjections> project(const std::string& name, std::span<const float> values) {
  const std::string key = "sign/" + name;
  std::array<double, kProjections> sums{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t signs = formula_bits(key, i);
    const auto value = double(values[i]);
    for (std::size_t k = 0; k < kProjections; ++k)
      sums[k] += ((signs >> k) & 1U) != 0 ? value : -value;
  }
  return sums;
}

}  // namespace

Digest read_digest(const nlohmann::json& json) {
  return {json.at("norm"), json.at("projections"), json.at("samples"),
          json.value("framework_error", 0.0)};
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
  for (std::size_t k = 0; k < kProjections; ++k)
    squares += std::pow(projections[k] - digest.projections[k], 2);
  double norm = std::sqrt(squares / kProjections);
  const std::string key = "sample/" + name;
  const auto count = std::uint32_t(values.size());
  for (std::size_t j = 0; j < digest.samples.size(); ++j) {
    const float value = values[to_below(formula_bits(key, j), count)];
    norm = std::max(norm, std::abs(double(value) - digest.samples[j]));
  }
  if (std::isnan(norm)) norm = std::numeric_limits<double>::infinity();
  return {.norm = norm, .relative = norm / digest.norm};
}

namespace {

/// How many times the framework's own deviation from the exact result rueda's may be. The
/// frameworks were measured on a processor with AVX-512. There rueda's is 0.4 to 1.8 times theirs
/// where rounding is all there is; with AVX2, whose sums run in fewer lanes and hence longer
/// chains, up to 4.2.
constexpr double kRounded = 8.0;
/// After a ReLU's derivative it is up to 3.7 times, with AVX2 4.9: which of the values next to
/// zero change their sign is chance, a few of them are nearly all of a gradient's error, and a
/// second step multiplies them. A mistake is of another size: the errors are 0.001 to 0.02 for
/// gradients.
constexpr double kThroughRelu = 10.0;
/// Of a series of losses only three runs of the framework tell how far rounding carries it: 9.6
/// times in one of its first steps, on either kind of processor.
constexpr double kSeries = 20.0;
/// What fp32 may always deviate: the rounding of a result, and a few in a small tensor.
constexpr double kFloor = 2.0 * 0x1.0p-24;

double allowed(double framework_error, double factor) {
  return factor * std::max(framework_error, kFloor);
}

double worse(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::infinity();
  return std::max(a, b);
}

}  // namespace

Quantity::~Quantity() {
  if (std::getenv("RUEDA_PARITY_FIGURES") == nullptr) return;
  std::printf("%-28s %4zu  largest difference %.2e %-34s  %6.2f times the framework's %s\n",
              name_.c_str(), count_, relative_.value, relative_.tensor.c_str(), ratio_.value,
              ratio_.tensor.c_str());
}

void Quantity::keep(Worst& worst, double value, const std::string& tensor) {
  if (!worst.tensor.empty() && value <= worst.value) return;
  worst = {value, tensor};
}

void Quantity::add(const std::string& tensor, double relative, double framework, double allowed) {
  ++count_;
  // A gradient that is zero but for rounding has no relative deviation worth showing.
  if (framework < 1.0) keep(relative_, relative, tensor);
  keep(ratio_, relative / std::max(framework, kFloor), tensor);
  if (relative <= allowed) return;
  complaints_ +=
      fmt::format("{} of {}: {:.3g} off, {:.3g} allowed\n", name_, tensor, relative, allowed);
}

std::string check_digests(const std::string& what, const NamedTensors& tensors,
                          const nlohmann::json& digests, Through through) {
  if (tensors.size() != digests.size()) {
    return fmt::format("{}: {} tensors, {} in the reference\n", what, tensors.size(),
                       digests.size());
  }
  const double factor = through == Through::relu ? kThroughRelu : kRounded;
  Quantity quantity(what);
  for (const auto& [name, json] : digests.items()) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) return fmt::format("{}: no tensor {}\n", what, name);
    const Digest digest = read_digest(json);
    quantity.add(name, deviation(name, found->second, digest).relative, digest.framework_error,
                 allowed(digest.framework_error, factor));
  }
  return quantity.complaints();
}

std::string check_output(const std::string& what, const Output& output,
                         const nlohmann::json& json) {
  double squares = 0;
  double differences = 0;
  std::size_t i = 0;
  for (const auto& row : json.at("logits")) {
    for (const double exact : row) {
      if (i == output.logits.size()) return what + ": too few logits\n";
      squares += exact * exact;
      differences += std::pow(double(output.logits[i++]) - exact, 2);
    }
  }
  if (i != output.logits.size()) return what + ": too many logits\n";
  const double framework = json.at("framework_error");
  Quantity quantity(what);
  quantity.add("logits", worse(0, std::sqrt(differences / squares)), framework,
               allowed(framework, kRounded));
  // The loss inherits the logits' error, but may happen to be exact, and even zero.
  const double exact = json.at("loss");
  const double scale = std::max(exact, 1.0);
  const double error = std::max(json.at("loss_error").get<double>() / scale, framework);
  quantity.add("loss", worse(0, std::abs(output.loss - exact) / scale), error,
               allowed(error, kRounded));
  return quantity.complaints();
}

std::string check_losses(const std::string& what, const std::vector<double>& losses,
                         const nlohmann::json& train) {
  Quantity quantity(what);
  double spread = 0;
  for (std::size_t s = 0; s < losses.size(); ++s) {
    const double exact = train.at("losses").at(s);
    spread = std::max(spread, train.at("spread").at(s).get<double>() / exact);
    quantity.add(fmt::format("step {}", s), worse(0, std::abs(losses[s] / exact - 1)), spread,
                 allowed(spread, kSeries));
  }
  return quantity.complaints();
}

}  // namespace rueda::test
