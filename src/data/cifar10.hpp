#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rueda/data/dataset.hpp"

namespace rueda {

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
