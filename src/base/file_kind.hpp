#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// A kind that is no text, or stands for another file, with all that tells it by a few bytes: for
/// the reader of runs. Empty: the program that unpacks it, where it is not packed; the remedy,
/// where it is a file of its own.
struct KindMarks {
  std::string_view name, unpack, instead;
  struct Magic {
    std::string_view bytes;
    std::size_t offset;
  };
  std::vector<Magic> magics;
  struct Text {
    std::string_view begin;  ///< after blanks and a byte-order mark, in any letters
    std::string_view has;    ///< somewhere in the head
  };
  std::vector<Text> texts;
};

/// Where two kinds fit a file, the first one counts.
std::vector<KindMarks> kinds_but_text();

}  // namespace rueda
