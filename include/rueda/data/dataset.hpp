#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rueda {

inline constexpr int kImageChannels = 3;
inline constexpr int kImageSide = 32;
inline constexpr std::size_t kImageBytes = std::size_t(kImageChannels) * kImageSide * kImageSide;
inline constexpr int kClasses = 10;  ///< of CIFAR-10, and where a set names none
/// Images in the official CIFAR-10 training and test sets.
inline constexpr std::size_t kOfficialTrainImages = 50'000;
inline constexpr std::size_t kOfficialTestImages = 10'000;

/// Images of one split as the files hold them: uint8, (N, 3, 32, 32), red plane first, row-major.
struct ImageSet {
  std::vector<std::uint8_t> pixels;  ///< size() * kImageBytes
  std::vector<std::uint8_t> labels;  ///< from 0 to one less than the classes

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
  /// By label: those of the files, which may be from 2 to 256, else the official ones.
  std::vector<std::string> class_names = std::vector<std::string>(kClasses);
  std::vector<std::string> remarks;   ///< accepted oddities, each one line for the log
  std::vector<std::string> warnings;  ///< what may spoil a result: images that are there twice
};

}  // namespace rueda
