#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
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

/// What is odd about the labels of a training set as a whole, with counts: all
/// are of one class, or classes have no image. Empty: nothing.
std::string label_fault(const ImageSet& train, const std::vector<std::string>& class_names);

/// Reads CIFAR-10 in any of the four official forms: a directory holding the
/// binary version (`data_batch_*.bin`, `test_batch.bin`) or the Python version
/// (`data_batch_*`, `test_batch`), the parent of such a directory
/// (`cifar-10-batches-bin` / `cifar-10-batches-py`), or either `.tar.gz` as
/// downloaded, read without unpacking to disk. Fewer or more training files or
/// images than the official number are accepted and remarked. Throws InputError
/// naming file, offset and reason for anything missing, truncated or damaged.
Dataset read_cifar10(const std::filesystem::path& where);

/// What a CIFAR-10 data set consists of, for a person who wonders whether it is the right one.
struct DataCheck {
  std::string form;                ///< "binary version" or "Python version"
  std::string place;               ///< the directory or archive that holds the files
  std::vector<std::string> files;  ///< as messages name them, training files first
  std::vector<std::string> class_names;
  std::vector<std::size_t> train_per_class;
  std::vector<std::size_t> test_per_class;
  std::uint64_t train_fingerprint = 0;
  std::uint64_t test_fingerprint = 0;
  std::vector<std::string> remarks;  ///< the reader's, warnings first
};

/// Reads the whole set at `where`, as training does. Throws what read_cifar10 throws.
DataCheck check_cifar10(const std::filesystem::path& where);

inline constexpr std::size_t kMostDrawnClasses = 100;

/// How many images of each split to draw, from which seed, of how many classes.
struct SynthOptions {
  std::size_t train = 5'000;
  std::size_t test = 1'000;
  std::uint64_t seed = 1;
  std::size_t classes = kClasses;  ///< from 2 to kMostDrawnClasses
};

/// Draws a data set of visibly different classes (shapes and textures in
/// random colour, place, size, rotation, on random backgrounds, with noise);
/// from the eleventh class on an image has two of them, one over the other. A
/// pure function of the options, the same on every machine; labels are balanced
/// (image i of a split has label i mod classes before a fixed shuffle). Colour and
/// mean intensity say nothing about the class, so a linear classifier on pixels
/// stays near chance, while a ResNet learns it within a few epochs.
Dataset draw_synthetic(const SynthOptions& options);

/// The two versions in which the official files come.
enum class Cifar10Format { binary, python };
/// As its readers call it: "the binary version", "the Python version".
inline const char* version_name(Cifar10Format format) {
  if (format == Cifar10Format::binary) return "binary";
  return "Python";
}

/// Writes `dataset` below `directory` in exactly the official file format: five
/// training files (`data_batch_1` ... `data_batch_5`, sizes differing by at
/// most one image; fewer for fewer than five images, more where a file would be
/// too large to be read) and a test file, plus `batches.meta.txt` / `batches.meta`.
/// The directory is created; files are written under a temporary name and
/// renamed. Throws InputError where it cannot be written.
void write_cifar10(const Dataset& dataset, const std::filesystem::path& directory,
                   Cifar10Format format);

}  // namespace rueda
