#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/registry.hpp"
#include "network.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda::test {

// The values that tests/parity/formula.py computes, bit for bit: of tensors, images and labels from
// a hash of their names.

/// Number `index` of the bits of a name.
std::uint64_t formula_bits(const std::string& name, std::uint64_t index);

/// Number `index` of the values of a name, in [-1, 1), exact in fp32.
double formula_unit(const std::string& name, std::uint64_t index);

/// The values of a parameter or a running statistic, in the origin's order. `gain` scales
/// convolutions and what follows from that for running statistics.
std::vector<float> formula_values(const OriginTensor& tensor, Origin origin, double gain);

/// The first `count` images with their labels.
ImageSet formula_images(std::size_t count);

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

/// Of which training steps are stored, too.
inline std::vector<std::string> trained_networks() {
  return {"resnet20", "resnet18", "resnet50v2"};
}

inline std::vector<std::string> deepest_networks() { return {"resnet101v2", "resnet152v2"}; }

/// All of which something is stored.
inline std::vector<std::string> all_networks() {
  auto names = trained_networks();
  for (const std::string& name : deepest_networks()) names.push_back(name);
  return names;
}

/// A network and what is stored of it.
struct Case {
  explicit Case(const std::string& name)
      : reference(read_reference(name)),
        graph(build_model(name, reference.at("image_size"), 10)),
        batch(reference.at("batch")) {}
  nlohmann::json reference;
  Graph graph;
  std::size_t batch;
};

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

/// One kind of result of one network, for instance the gradients of resnet18: the worst of all its
/// tensors, and those that are out of bounds. With RUEDA_PARITY_FIGURES set, prints its line.
class Quantity {
 public:
  explicit Quantity(std::string name) : name_(std::move(name)) {}
  ~Quantity();
  Quantity(const Quantity&) = delete;
  Quantity& operator=(const Quantity&) = delete;

  /// `relative` deviation of `tensor` where the framework itself has `framework`, and `allowed`.
  void add(const std::string& tensor, double relative, double framework, double allowed);
  /// Empty, or a line for each tensor out of bounds: what a test asserts.
  const std::string& complaints() const noexcept { return complaints_; }

 private:
  struct Worst {
    double value = 0;
    std::string tensor;
  };
  void keep(Worst& worst, double value, const std::string& tensor);

  std::string name_;
  std::size_t count_ = 0;
  Worst relative_;
  Worst ratio_;
  std::string complaints_;
};

/// Whether a result hangs on the derivatives of ReLUs, so that the sign of a value next to zero,
/// which rounding decides, makes more than a rounding's difference.
enum class Through { rounding, relu };

/// Whether every digest of a JSON object {name: digest} is met by the tensor of its name, and there
/// are no others. Returns what is not so, a line each; empty: all is well.
std::string check_digests(const std::string& what, const NamedTensors& tensors,
                          const nlohmann::json& digests, Through through);

/// Whether logits and loss of a forward pass agree.
std::string check_output(const std::string& what, const Output& output, const nlohmann::json& json);

/// Whether the losses of a series of steps agree.
std::string check_losses(const std::string& what, const std::vector<double>& losses,
                         const nlohmann::json& train);

}  // namespace rueda::test
