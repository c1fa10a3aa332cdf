#include "directory_claim.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/core/printable.hpp"

namespace rueda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFileName = ".lock";
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kBetweenTries{50};

/// False if another process keeps it. What can not be locked at all counts as locked.
bool lock(int fd) {
  const auto begin = Clock::now();
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;
    if (Clock::now() - begin > kPatience) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

/// For whoever finds the directory taken.
void sign(int fd) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string text = fmt::format("process {} on {}", ::getpid(), host.data());
  // A full disk costs the name, not the lock.
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

std::string signature(int fd) {
  std::array<char, 512> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  return count > 0 ? printable(std::string(text.data(), static_cast<std::size_t>(count)))
                   : "another process";
}

}  // namespace

DirectoryClaim::DirectoryClaim(const std::filesystem::path& directory) {
  const auto path = directory / kFileName;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd_ < 0) return;
  if (lock(fd_)) {
    sign(fd_);
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
