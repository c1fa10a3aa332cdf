#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rueda {

inline constexpr int kImageChannels = 3;
inline constexpr int kImageSide = 32;
inline constexpr std::size_t kImageBytes = std::size_t(kImageChannels) * kImageSide * kImageSide;
inline constexpr int kClasses = 10;
/// Images in the official CIFAR-10 training and test sets.
inline constexpr std::size_t kOfficialTrainImages = 50'000;
inline constexpr std::size_t kOfficialTestImages = 10'000;

/// Images of one split as the files hold them: uint8, (N, 3, 32, 32), red plane first, row-major.
struct ImageSet {
  std::vector<std::uint8_t> pixels;  ///< size() * kImageBytes
  std::vector<std::uint8_t> labels;  ///< 0 ... kClasses-1

  std::size_t size() const noexcept { return labels.size(); }
  std::span<const std::uint8_t> image(std::size_t i) const {
    return {pixels.data() + i * kImageBytes, kImageBytes};
  }
  /// A hash of all pixels and labels: equal for equal sets.
  std::uint64_t fingerprint() const;
  bool operator==(const ImageSet&) const = default;
  /// Keeps the first `n` images (all, if there are fewer).
  void truncate(std::size_t n);
};

/// A training and a test split, read once and never changed.
struct Dataset {
  ImageSet train;
  ImageSet test;
  std::string source;  ///< what a person would call it: path or "synthetic"
  std::array<std::string, kClasses> class_names;
  std::vector<std::string> remarks;  ///< accepted oddities, each one line for the log
};

}  // namespace rueda
