#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace rueda {

/// Takes a text piece by piece, in order.
using TextSink = std::function<void(std::string_view)>;

/// Puts what `write` gives to its sink at `path` in one go: written to a temporary file beside it,
/// flushed to the disk, renamed over `path`, and the directory flushed. A crash at any moment
/// leaves the old file or the new one, whole. Throws RunError naming path and reason, and what
/// `write` throws; nothing temporary stays behind then.
void write_atomically(const std::filesystem::path& path,
                      const std::function<void(const TextSink&)>& write);

/// The same for a text that is there, in parts or whole.
void write_atomically(const std::filesystem::path& path, std::span<const std::string_view> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

/// Whether `name` is what a process that was killed in the midst of writing `file` leaves beside
/// it.
bool is_temporary_of(std::string_view name, std::string_view file);

/// Makes new names in a directory survive a crash of the machine, where its file system can do
/// that.
void flush_directory(const std::filesystem::path& directory);

/// Appends to a file that is there, and flushes it. Throws RunError naming path and reason.
void append_to_file(const std::filesystem::path& path, std::string_view text);

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
