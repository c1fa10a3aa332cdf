#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rueda/data/dataset.hpp"
#include "rueda/data/synth.hpp"

namespace rueda {

/// One file of a set: still on disk, or already in memory if it came out of an archive.
struct SetFile {
  std::string name;              ///< what messages call it
  int number = 0;                ///< of a training file, from 1
  std::filesystem::path path{};  ///< empty if `bytes` is the file
  std::vector<std::uint8_t> bytes{};
};

/// The files of one CIFAR-10 set in one place.
struct Cifar10Files {
  Cifar10Format format = Cifar10Format::binary;
  std::string place{};           ///< directory or archive, for messages
  std::vector<SetFile> train{};  ///< by number: 10 after 9
  std::optional<SetFile> test{};
  std::optional<SetFile> meta{};
  std::vector<std::string> remarks{};
};

/// Finds the set below `where` (a directory, its parent, or an archive) and checks that it is
/// complete: a test file and at least one training file. If both versions are there the binary one
/// is chosen, as it has nothing to decode, and that is remarked. Throws InputError otherwise.
Cifar10Files find_cifar10(const std::filesystem::path& where);

/// The data set that the files hold, which gives their bytes up. Throws InputError.
Dataset read_files(Cifar10Files& files);

/// The bytes of the file, which are moved out or read now; no more than kMaxFileBytes.
std::vector<std::uint8_t> load(SetFile& file);

using ClassNames = std::array<std::string, kClasses>;

/// Appends the images of one binary file: records of a label byte and kImageBytes pixel bytes.
/// Throws InputError naming the file, the offset and the reason.
void decode_binary(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set);

/// Appends the images of one Python file: a pickled dict with `data`, a NumPy uint8 array of shape
/// (N, 3072) or (N, 3, 32, 32), and `labels`, N integers. Throws as decode_binary does.
void decode_python(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set);

/// The ten class names in a `batches.meta.txt`, one a line; nothing if they are not ten.
std::optional<ClassNames> binary_class_names(std::span<const std::uint8_t> bytes);

/// The same from `label_names` in a pickled `batches.meta`. Throws if the pickle is damaged.
std::optional<ClassNames> python_class_names(std::span<const std::uint8_t> bytes,
                                             const std::string& name);

}  // namespace rueda
