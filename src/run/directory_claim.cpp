#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "run_directory.hpp"

namespace rueda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFileName = ".lock";
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kBetweenTries{50};

/// False if another process keeps it. What can not be locked at all counts as locked; errno says
/// why.
bool lock(int fd) {
  const auto begin = Clock::now();
  errno = 0;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;
    if (Clock::now() - begin > kPatience) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

/// For reading: a file that is open for writing keeps its file system from being made read-only.
/// Only NFS locks none but those. The file of another user will do.
int open_locked(const std::filesystem::path& path, bool& locked) {
  constexpr int kHow = O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int fd = ::open(path.c_str(), O_RDONLY | kHow, 0666);
  locked = fd < 0 || lock(fd);
  if (fd < 0 || !locked || errno != EBADF) return fd;
  ::close(fd);
  fd = ::open(path.c_str(), O_RDWR | kHow, 0666);
  locked = fd < 0 || lock(fd);
  return fd;
}

/// For a process that finds the directory taken.
void sign(const std::filesystem::path& path) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string text = fmt::format("process {} on {}", ::getpid(), host.data());
  std::ofstream(path, std::ios::trunc) << text;  // a full disk costs the name, not the lock
}

std::string signature(int fd) {
  std::array<char, 512> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  return count > 0 ? printable(std::string(text.data(), std::size_t(count))) : "another process";
}

}  // namespace

DirectoryClaim::DirectoryClaim(const std::filesystem::path& directory) {
  const auto path = directory / kFileName;
  bool locked = false;
  fd_ = open_locked(path, locked);
  if (fd_ < 0) return;
  if (locked) {
    sign(path);
    return;
  }
  const std::string holder = signature(fd_);
  ::close(std::exchange(fd_, -1));
  throw InputError("the run directory " + directory.string() + " is in use by " + holder +
                   ": wait until that run has ended, or choose another with --run-dir");
}

DirectoryClaim::~DirectoryClaim() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace rueda
