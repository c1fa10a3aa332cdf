#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda::test {

using Bytes = std::vector<std::uint8_t>;

Bytes read_bytes(const std::filesystem::path& file);
void write_bytes(const std::filesystem::path& file, const Bytes& bytes);

/// One member of an archive under construction.
struct TarMember {
  std::string path;
  Bytes bytes;
  bool symlink = false;  ///< to /etc/passwd, instead of `bytes`
};

void write_tar_gz(const std::filesystem::path& file, const std::vector<TarMember>& members);

/// Every file of `directory` as members "PREFIX/NAME", in reverse order of names.
std::vector<TarMember> members_of(const std::filesystem::path& directory,
                                  const std::string& prefix);

/// Images whose pixels and labels all differ by image; `first` numbers the first.
ImageSet numbered_images(std::size_t count, std::size_t first = 0);

/// A data set of numbered images with class names "class 0" and so on.
Dataset numbered_dataset(std::size_t train, std::size_t test);

}  // namespace rueda::test
