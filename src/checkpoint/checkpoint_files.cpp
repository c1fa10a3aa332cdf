#include "checkpoint_files.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = 1 << 16;

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw InputError("checkpoint file " + path.string() + " " + what +
                   ": resume from another checkpoint");
}

class OpenFile {
 public:
  explicit OpenFile(const fs::path& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) refuse(path, std::string("can not be opened (") + std::strerror(errno) + ")");
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(fd_); }
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace

CheckpointFile sum_file(const fs::path& directory, const std::string& name, bool fresh) {
  const fs::path path = directory / name;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!fs::exists(status)) refuse(path, "is missing");
  if (!fs::is_regular_file(status)) refuse(path, "is not a regular file");
  const OpenFile file(path);
  if (fresh) ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  CheckpointFile sum{.name = name};
  std::array<char, kReadBytes> bytes;
  while (true) {
    const ssize_t count = ::read(file.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(path, std::string("can not be read (") + std::strerror(errno) + ")");
    if (count == 0) break;
    sum.crc32 = crc32({bytes.data(), static_cast<std::size_t>(count)}, sum.crc32);
    sum.bytes += static_cast<std::size_t>(count);
  }
  return sum;
}

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  return static_cast<std::uint32_t>(::crc32_z(before, begin, bytes.size()));
}

}  // namespace rueda
