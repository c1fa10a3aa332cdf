#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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

}  // namespace rueda
