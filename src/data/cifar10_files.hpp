#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/cifar10.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

/// Largest file that is read, and largest sum of an archive's members: five
/// times an official file, ten times the official set. Bounds what a damaged or
/// hostile archive can unfold to.
inline constexpr std::size_t kMaxFileBytes = 200'000'000;
inline constexpr std::size_t kMaxSetBytes = 2'000'000'000;
/// Bytes of an archive, packed or unpacked, with its headers and what follows
/// the last member.
inline constexpr std::size_t kMaxUnfoldedBytes = kMaxSetBytes + kMaxFileBytes;

/// A file out of an archive.
struct ArchiveMember {
  std::string path;  ///< as the archive has it
  std::vector<std::uint8_t> bytes;
};

/// Reads those members of a .tar.gz (or .tar) whose path `wanted` accepts, in
/// archive order, into memory; never writes, so a path may say what it likes.
/// Throws InputError naming the archive if it is not one, is truncated or
/// damaged, exceeds the bounds, or if a wanted member is not a regular file.
/// `most_unfolded` is in bytes.
std::vector<ArchiveMember> read_archive(const std::filesystem::path& archive,
                                        const std::function<bool(std::string_view)>& wanted,
                                        std::size_t most_unfolded = kMaxUnfoldedBytes);

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

/// What the names of a version's batches end with.
inline const char* suffix_of(Cifar10Format format) {
  if (format == Cifar10Format::binary) return ".bin";
  return "";
}

/// Ends a message about a file or a directory of that set.
inline constexpr const char* kOfCifar100 =
    " is of CIFAR-100, which has 100 classes: give CIFAR-10, which has 10";

/// Throws InputError "NAME: byte OFFSET: REASON; REMEDY", the one shape in
/// which damage in a data file is reported.
[[noreturn]] void fail_at(const std::string& name, std::size_t offset, const std::string& reason);

/// Finds the set below `where` (a directory, its parent, or an archive) and
/// checks that it is complete: a test file and at least one training file. If
/// both versions are there the binary one is chosen, as it has nothing to
/// decode, and that is remarked. Throws InputError otherwise.
Cifar10Files find_cifar10(const std::filesystem::path& where);

/// The data set that the files hold, which gives their bytes up. Throws InputError.
Dataset read_files(Cifar10Files& files);

/// The bytes of the file, which are moved out or read now; no more than kMaxFileBytes.
std::vector<std::uint8_t> load(SetFile& file);

using ClassNames = std::vector<std::string>;

/// Appends the images of one binary file: records of a label byte and
/// kImageBytes pixel bytes. Labels are below `classes`. Throws InputError naming
/// the file, the offset and the reason.
void decode_binary(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set,
                   std::size_t classes = kClasses);

/// Appends the images of one Python file: a pickled dict with `data`, a NumPy
/// uint8 array of shape (N, 3072) or (N, 3, 32, 32), and `labels`, N integers.
/// Throws as decode_binary does.
void decode_python(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set,
                   std::size_t classes = kClasses);

/// The class names in a `batches.meta.txt`, one a line.
ClassNames binary_class_names(std::span<const std::uint8_t> bytes);

/// The same from `label_names` in a pickled `batches.meta`; none where that is no list of texts.
/// Throws if the pickle is damaged.
ClassNames python_class_names(std::span<const std::uint8_t> bytes, const std::string& name);

}  // namespace rueda
