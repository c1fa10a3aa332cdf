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
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "run_directory.hpp"

namespace rueda {
namespace {

constexpr const char* kFileName = ".lock";
constexpr double kPatience = 5;  // seconds
constexpr std::chrono::milliseconds kBetweenTries{50};

/// False if another process keeps it. What can not be locked at all counts as
/// locked; errno says why.
bool lock(int fd) {
  const Stopwatch watch;
  errno = 0;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;
    if (watch.seconds() > kPatience) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

/// For reading: a file that is open for writing keeps its file system from
/// being made read-only. Only NFS locks none but those. The file of another
/// user will do.
std::unique_ptr<OpenFile> open_locked(const fs::path& path, bool& locked) {
  constexpr int kHow = O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  auto file = std::make_unique<OpenFile>(path, O_RDONLY | kHow);
  locked = file->fd() < 0 || lock(file->fd());
  if (file->fd() < 0 || !locked || errno != EBADF) return file;
  file = std::make_unique<OpenFile>(path, O_RDWR | kHow);
  locked = file->fd() < 0 || lock(file->fd());
  return file;
}

/// For a process that finds the directory taken.
void sign(const fs::path& path) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string text = fmt::format("process {} on {}", ::getpid(), host.data());
  const OpenFile file(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (::write(file.fd(), text.data(), text.size()) < 0) return;  // costs the name, not the lock
}

std::string signature(int fd) {
  std::array<char, 512> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  return count > 0 ? printable(std::string(text.data(), std::size_t(count))) : "another process";
}

}  // namespace

DirectoryClaim::DirectoryClaim(const fs::path& directory) {
  const auto path = directory / kFileName;
  bool locked = false;
  auto file = open_locked(path, locked);
  const int why = errno;
  std::error_code none;
  const auto there = fs::symlink_status(path, none).type();
  require(
      there == fs::file_type::not_found || (fs::file_type::regular == there && file->fd() >= 0),
      path.string() + ": two runs in one directory are told apart by locking this file, and it " +
          (there == fs::file_type::regular ? std::string("cannot be read: ") + std::strerror(why)
                                           : "is no regular file") +
          "; remove it, or choose another --run-dir");
  if (file->fd() < 0) return;  // nothing can be written there, which is found out later
  if (!locked) {
    throw InputError("the run directory " + directory.string() + " is in use by " +
                     signature(file->fd()) +
                     ": wait until that run has ended, or choose another with --run-dir");
  }
  sign(path);
  file_ = std::move(file);
}

}  // namespace rueda
