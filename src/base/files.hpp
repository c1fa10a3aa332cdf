#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rueda {

namespace fs = std::filesystem;

/// An open file, closed on every way out. `flags` as of open(2).
class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags);
  /// Takes a descriptor over.
  explicit OpenFile(int fd) noexcept : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() { close(); }

  /// Below 0 where opening failed; errno says why.
  int fd() const noexcept { return fd_; }
  /// Whether the file is closed, and what was written to it was taken; errno says why not.
  bool close() noexcept;

 private:
  int fd_;
};

/// Takes a text piece by piece, in order.
using TextSink = std::function<void(std::string_view)>;

// One rule for every output. Where nothing or a regular file is, the text goes to a
// temporary file, which is then renamed: a crash at any moment leaves the old
// file or the new one, whole. A device or a pipe is written into, and so are
// /dev/stdout and /dev/stderr, whatever they are. Links and folders are refused.

/// Writes what `write` gives to its sink. Throws RunError naming path and
/// reason, and what `write` throws; the temporary file is removed then.
void write_output(const fs::path& path, const std::function<void(const TextSink&)>& write);

/// The same for a text that is there.
void write_output(const fs::path& path, std::string_view text);

/// Why write_output could not begin with `path`, for example "it is a link";
/// empty: it could. Found by trying the temporary file, which is removed again.
std::string obstacle_to_output(const fs::path& path);

/// Opens a regular file to append to, which is made where nothing is. Throws
/// RunError where anything else is there, and where the file has a second name
/// (a hard link): it may be somebody else's.
OpenFile open_to_append(const fs::path& path);

/// Throws InputError where `folder`, which lies inside an output, is there and
/// is a link, or no folder: what it leads to is somebody else's, so nothing
/// there is written or removed. `remedy` ends the message.
void require_own_folder(const fs::path& folder, const std::string& remedy);

/// Whether `name` is that of a temporary file which a process left that was
/// killed while it wrote `file`.
bool is_temporary_of(std::string_view name, std::string_view file);

/// What is in a directory, in no order. `error`: why it could not be listed, or not to its end.
std::vector<fs::path> entries_of(const fs::path& directory, std::error_code& error);

/// Makes new names in a directory survive a crash of the machine, where the file system can.
void flush_directory(const fs::path& directory);

/// Appends what `write` gives to its sink to a file that is there, and flushes it. Refuses what
/// open_to_append refuses. Throws RunError naming path and reason, and what `write` throws.
void append_to_file(const fs::path& path, const std::function<void(const TextSink&)>& write);

/// The same for a text that is there.
void append_to_file(const fs::path& path, std::string_view text);

/// What a reader wants: a text, safetensors weights, a tar archive of a data set,
/// one file of a set in its binary or its Python version, or whatever it gets.
enum class Wanted { text, weights, archive, binary_batch, python_batch, anything };

/// A file that a user gives to the program, and how messages refuse it.
struct InputFile {
  fs::path path;
  std::string name;    ///< what messages call it: the path, or an option and the path
  std::string remedy;  ///< what to give instead; ends every message
  Wanted wanted = Wanted::text;

  /// Throws InputError "NAME: WHY; REMEDY". Where the file is of another
  /// well-known kind, or stands for another one as a Git LFS pointer does, the
  /// message says that instead, with the remedy for it.
  [[noreturn]] void refuse(const std::string& why) const;
  /// The same unless `holds`.
  void require(bool holds, const std::string& otherwise) const {
    if (!holds) refuse(otherwise);
  }
  /// Refuses a file of another known kind alone, for readers with messages of
  /// their own.
  void require_kind() const;
};

/// Whether reading the file `path` runs code of the kernel, which may wait without
/// end: it is of /proc, /sys or their like, and has no size.
bool is_made_by_kernel(const fs::path& path);

/// Why `path`, which leads nowhere, cannot be read: a link may be there.
std::string absence(const fs::path& path);

/// Refuses a file that is missing, is not regular (a pipe or a device might
/// never end), is one that the kernel makes while it is read (as /proc/kmsg is,
/// which waits for a message), or has more than `most_bytes`. Opens nothing.
void require_regular_file(const InputFile& file, std::size_t most_bytes);

/// All bytes of a regular file. Refuses as above before it allocates anything,
/// and refuses a file that cannot be read to its end.
std::string read_whole(const InputFile& file, std::size_t most_bytes);

}  // namespace rueda
