#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

constexpr const char* kFileName = ".lock";
constexpr double kClaimPatience = 5;  // seconds
constexpr std::chrono::milliseconds kBetweenTries{50};
constexpr int kMostRenewals = 100;

/// False if another process keeps it. What can not be locked at all counts as
/// locked; errno says why. `waited`: for a process that let it go.
bool lock(int fd, bool& waited) {
  const Stopwatch watch;
  errno = 0;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;
    waited = true;
    if (watch.seconds() > kClaimPatience) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

/// For reading: a file that is open for writing keeps its file system from
/// being made read-only. Only NFS locks none but those. The file of another
/// user will do.
std::unique_ptr<OpenFile> open_locked(const fs::path& path, bool& locked, bool& waited) {
  constexpr int kHow = O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  auto file = std::make_unique<OpenFile>(path, O_RDONLY | kHow);
  locked = file->fd() < 0 || lock(file->fd(), waited);
  if (file->fd() < 0 || !locked || errno != EBADF) return file;
  file = std::make_unique<OpenFile>(path, O_RDWR | kHow);
  locked = file->fd() < 0 || lock(file->fd(), waited);
  return file;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// The same, of the file that has the name when it is locked: a run that was
/// refused takes the name away, and another one may have waited for it.
std::unique_ptr<OpenFile> open_current(const fs::path& path, bool& locked, bool& waited) {
  for (int tries = 0;; ++tries) {
    auto file = open_locked(path, locked, waited);
    const int why = errno;
    struct stat mine {
    }, its{};
    const bool current = file->fd() < 0 || !locked || ::fstat(file->fd(), &mine) != 0 ||
                         (::lstat(path.c_str(), &its) == 0 && same_file(mine, its));
    errno = why;
    if (current || tries == kMostRenewals) return file;
  }
}

constexpr const char* kSignature = "process {} on {}";

/// What the file holds, which is short if it is ours.
std::string content_of(int fd) {
  std::array<char, 512> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  return {text.data(), std::size_t(std::max<ssize_t>(count, 0))};
}

/// Whether a text is one that `sign` writes.
bool is_signature(std::string_view text) {
  return take(text, "process ") && take_number(text) && take(text, " on ") && text.size() < 256;
}

/// Why an open file is none to lock and to write into; empty: it is.
std::string fault_of(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return std::string("cannot be read: ") + std::strerror(errno);
  if (!S_ISREG(found.st_mode)) return "is no regular file";
  if (found.st_nlink > 1) return "is somebody's file under a second name (a hard link)";
  const std::string text = content_of(fd);
  return text.empty() || is_signature(text) ? "" : "holds something else";
}

/// For a process that finds the directory taken. Into the file that is locked,
/// not into one that has taken its name since.
void sign(const fs::path& path, int locked) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string text = fmt::format(kSignature, ::getpid(), host.data());
  const OpenFile file(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat mine {
  }, its{};
  if (file.fd() < 0 || ::fstat(file.fd(), &mine) != 0 || ::fstat(locked, &its) != 0) return;
  if (!same_file(mine, its) || mine.st_nlink != 1) return;
  if (::ftruncate(file.fd(), 0) != 0) return;
  if (::write(file.fd(), text.data(), text.size()) < 0) return;  // costs the name, not the lock
}

}  // namespace

DirectoryClaim::DirectoryClaim(const fs::path& directory) : path_(directory / kFileName) {
  const fs::path& path = path_;
  bool locked = false;
  auto file = open_current(path, locked, waited_);
  const int why = errno;
  std::error_code none;
  const auto there = fs::symlink_status(path, none).type();
  if (there == fs::file_type::not_found) return;  // nothing can be written there: found out later
  std::string fault = std::string("cannot be read: ") + std::strerror(why);
  if (there != fs::file_type::regular) fault = "is no regular file";
  if (file->fd() >= 0) fault = fault_of(file->fd());
  require(fault.empty(), path.string() +
                             ": two runs in one directory are told apart by locking this file, "
                             "and it " +
                             fault + "; remove it, or choose another --run-dir");
  if (!locked) {
    const std::string signature = content_of(file->fd());
    throw InputError("the run directory " + directory.string() + " is in use by " +
                     (signature.empty() ? "another process" : printable(signature)) +
                     ": wait until that run has ended, or choose another with --run-dir");
  }
  found_run_ = is_signature(content_of(file->fd()));
  sign(path, file->fd());
  file_ = std::move(file);
}

void DirectoryClaim::withdraw() noexcept {
  std::error_code ignored;
  if (file_ != nullptr && !found_run_) fs::remove(path_, ignored);
  file_.reset();
}

}  // namespace rueda
