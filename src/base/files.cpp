#include "base/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

[[noreturn]] void fail(const fs::path& path, const char* doing, int error) {
  throw RunError(
      fmt::format("cannot write {}: {}: {}; check that the directory exists, is writable and has "
                  "room",
                  path.string(), doing, std::strerror(error)));
}

void write_all(int fd, const fs::path& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "writing", errno);
    text.remove_prefix(std::size_t(written));
  }
}

/// ".rueda-8f2c0001.tmp-": as long for every target, because a name may have 255 bytes.
std::string temporary_prefix(std::string_view target) {
  std::uint32_t hash = 2'166'136'261U;  // FNV-1a, Fowler, Noll and Vo
  for (const char c : target) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return fmt::format(".rueda-{:08x}.tmp-", hash);
}

fs::path temporary_name(const fs::path& target) {
  const std::string prefix = temporary_prefix(target.filename().string());
  return target.parent_path() / (prefix + std::to_string(std::random_device()()));
}

/// Writes little pieces to an open file together.
class PieceWriter {
 public:
  PieceWriter(const OpenFile& file, const fs::path& path) : file_(file), path_(path) {}

  void write(std::string_view text) {
    if (waiting_.size() + text.size() > kMostWaiting) flush();
    if (text.size() > kMostWaiting) return write_all(file_.fd(), path_, text);
    waiting_ += text;
  }

  void flush() {
    write_all(file_.fd(), path_, waiting_);
    waiting_.clear();
  }

 private:
  static constexpr std::size_t kMostWaiting = 1 << 16;

  const OpenFile& file_;
  const fs::path& path_;
  std::string waiting_;
};

/// A new file that is removed again unless it was renamed. Nobody can have laid
/// a link in its way: its name is not known before, and it must not exist.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : target_(target),
        name_(temporary_name(target)),
        file_(name_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC) {
    if (file_.fd() < 0) fail(target_, "creating a temporary file", errno);
  }
  ~TemporaryFile() {
    if (!renamed_) ::unlink(name_.c_str());
  }

  void write(std::string_view text) { pieces_.write(text); }
  void flush() { pieces_.flush(); }

  void rename_to_target() {
    flush();
    if (::fsync(file_.fd()) != 0) fail(target_, "flushing", errno);
    if (!file_.close()) fail(target_, "closing", errno);
    if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, "renaming", errno);
    renamed_ = true;
  }

 private:
  fs::path target_;
  fs::path name_;
  OpenFile file_;
  PieceWriter pieces_{file_, target_};
  bool renamed_ = false;
};

/// What is at the path of an output.
enum class Place { file, stream, standard_output, standard_error, other };

Place place_of(const fs::path& path) {
  if (path == "/dev/stdout") return Place::standard_output;
  if (path == "/dev/stderr") return Place::standard_error;
  std::error_code error;
  switch (fs::symlink_status(path, error).type()) {
    case fs::file_type::not_found:
    case fs::file_type::regular:
      return Place::file;
    case fs::file_type::character:
    case fs::file_type::fifo:
      return Place::stream;
    default:
      return Place::other;
  }
}

std::string obstacle_of_other(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error) return error.message();
  if (fs::is_symlink(status)) return "it is a link; name the file itself";
  if (fs::is_directory(status)) return "it is a folder";
  return "it is neither a regular file nor a device or pipe";
}

/// To write into what is there. A pipe must have a reader, or opening it would
/// wait for one, deaf to signals.
OpenFile open_stream(const fs::path& path, Place place) {
  std::fflush(nullptr);  // what was printed comes first
  if (place == Place::standard_output) return OpenFile(::dup(STDOUT_FILENO));
  if (place == Place::standard_error) return OpenFile(::dup(STDERR_FILENO));
  OpenFile file(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file.fd() < 0 && errno == ENXIO) fail(path, "nobody reads this pipe", errno);
  if (file.fd() < 0) fail(path, "opening it", errno);
  ::fcntl(file.fd(), F_SETFL, ::fcntl(file.fd(), F_GETFL) & ~O_NONBLOCK);
  return file;
}

void write_stream(const fs::path& path, Place place,
                  const std::function<void(const TextSink&)>& write) {
  OpenFile file = open_stream(path, place);
  if (file.fd() < 0) fail(path, "opening it", errno);
  write([&](std::string_view text) { write_all(file.fd(), path, text); });
  if (!file.close()) fail(path, "closing", errno);
}

/// To append to a regular file. `flags` are more than the usual ones.
OpenFile open_regular(const fs::path& path, int flags) {
  constexpr int kHow = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  OpenFile file(path, kHow | flags);
  const int error = errno;
  std::string why;
  struct stat found {};
  if (place_of(path) == Place::other)
    why = obstacle_of_other(path);
  else if (file.fd() < 0)
    fail(path, "opening it", error);
  else if (::fstat(file.fd(), &found) != 0 || !S_ISREG(found.st_mode))
    why = "it is no regular file";
  else if (found.st_nlink > 1)
    why = "it is somebody's file under a second name (a hard link); remove this name";
  if (!why.empty()) throw RunError(fmt::format("cannot write {}: {}", path.string(), why));
  return file;
}

}  // namespace

OpenFile::OpenFile(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags, 0666)) {}

bool OpenFile::close() noexcept {
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0;
}

void write_output(const fs::path& path, const std::function<void(const TextSink&)>& write) {
  const Place place = place_of(path);
  if (place == Place::other)
    throw RunError(fmt::format("cannot write {}: {}", path.string(), obstacle_of_other(path)));
  if (place != Place::file) return write_stream(path, place, write);
  TemporaryFile file(path);
  write([&file](std::string_view text) { file.write(text); });
  file.rename_to_target();
  flush_directory(path.has_parent_path() ? path.parent_path() : ".");
}

std::string obstacle_to_output(const fs::path& path) {
  const Place place = place_of(path);
  if (place == Place::other) return obstacle_of_other(path);
  if (place == Place::stream && ::access(path.c_str(), W_OK) != 0) return std::strerror(errno);
  if (place != Place::file) return "";
  if (!path.has_filename()) return "it names no file";
  try {
    TemporaryFile file(path);
    file.write("x");
    file.flush();
    return "";
  } catch (const std::exception&) {
    return "its folder does not exist, is full or may not be written into";
  }
}

void write_output(const fs::path& path, std::string_view text) {
  write_output(path, [text](const TextSink& put) { put(text); });
}

OpenFile open_to_append(const fs::path& path) { return open_regular(path, O_CREAT); }

void require_own_folder(const fs::path& folder, const std::string& remedy) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder, error);
  if (!fs::exists(status) || fs::is_directory(status)) return;
  std::string what = "it is no folder";
  if (fs::is_symlink(status))
    what = "it is a link to " + printable(fs::read_symlink(folder, error).string()) +
           ", and no link inside an output is followed";
  throw InputError(folder.string() + ": " + what + "; " + remedy);
}

bool is_temporary_of(std::string_view name, std::string_view file) {
  const std::string begin = temporary_prefix(file);
  return name.starts_with(begin) && name.size() > begin.size() &&
         name.find_first_not_of("0123456789", begin.size()) == name.npos;
}

std::vector<fs::path> entries_of(const fs::path& directory, std::error_code& error) {
  std::vector<fs::path> found;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  return found;
}

/// Some file systems refuse it; the file is whole either way, so that is no failure.
void flush_directory(const fs::path& directory) {
  const OpenFile file(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file.fd() >= 0) ::fsync(file.fd());
}

void append_to_file(const fs::path& path, const std::function<void(const TextSink&)>& write) {
  const OpenFile file = open_regular(path, 0);
  PieceWriter pieces(file, path);
  write([&pieces](std::string_view text) { pieces.write(text); });
  pieces.flush();
  if (::fsync(file.fd()) != 0) fail(path, "flushing", errno);
}

void append_to_file(const fs::path& path, std::string_view text) {
  append_to_file(path, [text](const TextSink& put) { put(text); });
}

void InputFile::require_kind() const {
  if (const auto other = other_kind(path, wanted))
    throw InputError(name + ": it is " + other->name + "; " + other->remedy);
}

void InputFile::refuse(const std::string& why) const {
  require_kind();
  throw InputError(name + ": " + why + "; " + remedy);
}

bool is_made_by_kernel(const fs::path& path) {
  struct statfs system {};
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || ::statfs(path.c_str(), &system) != 0) return false;
  constexpr std::array kSystems = {PROC_SUPER_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC, DEBUGFS_MAGIC};
  return found.st_size == 0 && std::ranges::count(kSystems, system.f_type) > 0;
}

std::string absence(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(path, error))) return "it is not there";
  return "it is a link to " + printable(fs::read_symlink(path, error).string()) +
         ", and nothing is there";
}

void require_regular_file(const InputFile& file, std::size_t most_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(file.path, error);
  file.require(status.type() != fs::file_type::not_found,
               "it cannot be opened: " + absence(file.path));
  file.require(fs::status_known(status), "it cannot be opened: " + error.message());
  file.require(!fs::is_directory(status), "it is a directory");
  file.require(fs::is_regular_file(status), "it is not a regular file");
  file.require(!is_made_by_kernel(file.path),
               "it is no file on a disk: the kernel makes it while it is read");
  const std::uintmax_t bytes = fs::file_size(file.path, error);
  file.require(!error, "it cannot be read: " + error.message());
  file.require(bytes <= most_bytes,
               fmt::format("it has {} bytes, more than the {} that are read", bytes, most_bytes));
}

std::string read_whole(const InputFile& file, std::size_t most_bytes) {
  require_regular_file(file, most_bytes);
  std::ifstream stream(file.path, std::ios::binary | std::ios::ate);
  file.require(stream.good(), "it cannot be opened");
  // Of what was opened: another file may have taken the name since.
  const auto bytes = std::size_t(stream.tellg());
  file.require(bytes <= most_bytes, "it grows while it is read");
  std::string text(bytes, '\0');
  stream.seekg(0).read(text.data(), static_cast<std::streamsize>(text.size()));
  file.require(stream.good(), "it cannot be read to its end");
  return text;
}

}  // namespace rueda
