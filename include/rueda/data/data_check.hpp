#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dataset.hpp"

namespace rueda {

/// What a CIFAR-10 data set consists of, for a person who wonders whether it is the right one.
struct DataCheck {
  std::string form;                ///< "binary version" or "Python version"
  std::string place;               ///< the directory or archive that holds the files
  std::vector<std::string> files;  ///< as messages name them, training files first
  std::array<std::string, kClasses> class_names;
  std::array<std::size_t, kClasses> train_per_class{};
  std::array<std::size_t, kClasses> test_per_class{};
  std::uint64_t train_fingerprint = 0;
  std::uint64_t test_fingerprint = 0;
  std::vector<std::string> remarks;  ///< the reader's
};

/// Reads the whole set at `where`, as training does. Throws what read_cifar10 throws.
DataCheck check_cifar10(const std::filesystem::path& where);

}  // namespace rueda
