#include "gzip_check.hpp"

#include <memory>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "archive.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

struct CloseGzip {
  void operator()(gzFile_s* file) const noexcept { gzclose(file); }
};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw InputError(
      fmt::format("cannot read the archive {}: {}; download it again", file.string(), reason));
}

}  // namespace

void require_sound_gzip(const std::filesystem::path& file) {
  const std::unique_ptr<gzFile_s, CloseGzip> in(gzopen(file.c_str(), "rb"));
  if (in == nullptr) fail(file, "it cannot be opened");
  std::vector<char> block(1 << 18);
  // Members are bounded already; this bounds what may stand behind the last of them.
  std::size_t total = 0;
  int got = 0;
  while ((got = gzread(in.get(), block.data(), static_cast<unsigned>(block.size()))) > 0) {
    total += static_cast<std::size_t>(got);
    if (total > kMaxUnfoldedBytes)
      fail(file, fmt::format("it unfolds to over {} bytes", kMaxUnfoldedBytes));
  }
  int code = Z_OK;
  const std::string reason = gzerror(in.get(), &code);
  if (got < 0 || code == Z_BUF_ERROR) fail(file, "its checksum does not fit: " + reason);
}

}  // namespace rueda
