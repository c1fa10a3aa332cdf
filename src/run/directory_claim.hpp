#pragma once

#include <filesystem>
#include <utility>

namespace rueda {

/// One process's exclusive right to write into a run directory: a lock (flock) on a file in it,
/// which the system releases when the process ends, in any way. File systems without locks keep no
/// process out.
class DirectoryClaim {
 public:
  DirectoryClaim() = default;
  /// Waits five seconds for a process that is about to end. Throws InputError naming the process
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
