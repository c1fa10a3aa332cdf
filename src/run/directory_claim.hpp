#pragma once

#include <filesystem>
#include <utility>

namespace rueda {

/// The right to write into a run directory, of one process at a time: a lock (flock) on a file in
/// it, which the system takes back from a process that ends in whatever way. On file systems
/// without locks nobody is kept out.
class DirectoryClaim {
 public:
  DirectoryClaim() = default;
  /// Waits for five seconds for a process that is about to end. Throws InputError naming the one
  /// that has the directory.
  explicit DirectoryClaim(const std::filesystem::path& directory);
  DirectoryClaim(DirectoryClaim&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DirectoryClaim& operator=(DirectoryClaim&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~DirectoryClaim();
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace rueda
