#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace rueda {

/// A file that somebody hands to the program, and the words with which it is refused.
struct InputFile {
  std::filesystem::path path;
  std::string name;    ///< what messages call it: the path, or an option and the path
  std::string remedy;  ///< what to give instead; ends every message

  /// Throws InputError "NAME: WHY; REMEDY".
  [[noreturn]] void refuse(const std::string& why) const;
};

/// Refuses what is not there, is no regular file (a pipe or a device might never end) or has more
/// than `most_bytes`. Opens nothing.
void require_regular_file(const InputFile& file, std::size_t most_bytes);

/// All bytes of a regular file; refuses as above before anything is allocated, and a file that
/// cannot be read to its end.
std::string read_whole(const InputFile& file, std::size_t most_bytes);

}  // namespace rueda
