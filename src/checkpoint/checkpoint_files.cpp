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

}  // namespace

CheckpointFile sum_file(const fs::path& directory, const std::string& name, bool fresh) {
  const InputFile input = checkpoint_file(directory / name);
  require_regular_file(input, kMostFileBytes);
  const OpenFile file(input.path, O_RDONLY | O_CLOEXEC);
  if (file.fd() < 0) input.refuse(std::string("it cannot be opened: ") + std::strerror(errno));
  if (fresh) ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  CheckpointFile sum{.name = name};
  std::array<char, kReadBytes> bytes;
  while (true) {
    const ssize_t count = ::read(file.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) input.refuse(std::string("it cannot be read: ") + std::strerror(errno));
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

InputFile checkpoint_file(const fs::path& path) {
  return {path, "checkpoint " + path.string(), "resume from another checkpoint"};
}

}  // namespace rueda
