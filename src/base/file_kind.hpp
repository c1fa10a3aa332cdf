#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.hpp"

namespace rueda {

/// What a file is instead of what a reader wants, and what to do with it.
struct OtherKind {
  std::string name;  ///< "a PyTorch file"
  std::string remedy;
};

/// How much of a file is looked at.
inline constexpr std::size_t kHeadBytes = 512;

/// The kind of a file by its first bytes, where it is a known one and not what
/// is wanted. `path` stands in the remedy.
std::optional<OtherKind> other_kind(std::string_view head, Wanted wanted, const fs::path& path);

/// The same of a regular file on the disk; nothing if it cannot be read.
std::optional<OtherKind> other_kind(const fs::path& path, Wanted wanted);

}  // namespace rueda
