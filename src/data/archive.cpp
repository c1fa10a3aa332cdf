#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <zlib.h>

#include "cifar10_files.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"

namespace rueda {
namespace {

using GzipFile = std::unique_ptr<gzFile_s, decltype([](gzFile_s* file) { gzclose(file); })>;
constexpr std::size_t kMaxMembers = 10'000;

using Handle =
    std::unique_ptr<::archive, decltype([](::archive* handle) { archive_read_free(handle); })>;

[[noreturn]] void refuse_archive(const std::filesystem::path& file, const std::string& reason) {
  throw InputError(
      fmt::format("cannot read the archive {}: {}; download it again or give the "
                  "unpacked directory",
                  file.string(), reason));
}

[[noreturn]] void refuse_archive(const std::filesystem::path& file, const Handle& handle) {
  const char* const text = archive_error_string(handle.get());
  const std::string reason = text != nullptr ? text : "it is damaged";
  const auto offset = archive_filter_bytes(handle.get(), -1);
  refuse_archive(file,
                 offset < 0 ? reason : fmt::format("{} (at byte {} of the file)", reason, offset));
}

Handle open(const std::filesystem::path& file) {
  constexpr std::size_t kBlockBytes = 1 << 16;
  Handle handle(archive_read_new());
  if (handle == nullptr) refuse_archive(file, "out of memory");
  archive_read_support_filter_gzip(handle.get());
  archive_read_support_format_tar(handle.get());
  if (archive_read_open_filename(handle.get(), file.c_str(), kBlockBytes) != ARCHIVE_OK)
    refuse_archive(file, handle);
  return handle;
}

/// What stands between members counts as well: each may have up to 32 MB of extended headers.
void check_unfolded(const std::filesystem::path& file, const Handle& handle) {
  if (archive_filter_bytes(handle.get(), 0) > std::int64_t(kMaxUnfoldedBytes))
    refuse_archive(file, fmt::format("it unfolds to over {} bytes", kMaxUnfoldedBytes));
}

/// Steps to the next member; null at the end.
archive_entry* next_member(const std::filesystem::path& file, const Handle& handle) {
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(handle.get(), &entry);
  if (status == ARCHIVE_EOF) return nullptr;
  // A warning is about a name's character set or a time stamp, neither of which matters.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) refuse_archive(file, handle);
  return entry;
}

/// Size that the member's header states, checked. Nothing is unfolded before.
std::size_t member_size(const std::filesystem::path& file, archive_entry* entry,
                        std::size_t already) {
  const std::int64_t size = archive_entry_size(entry);
  if (size < 0 || std::uint64_t(size) > kMaxFileBytes)
    refuse_archive(
        file, fmt::format("a member claims {} bytes, more than the {} of any CIFAR-10 file", size,
                          kMaxFileBytes));
  if (already + std::size_t(size) > kMaxSetBytes)
    refuse_archive(file, fmt::format("its members are larger than {} bytes in all", kMaxSetBytes));
  return std::size_t(size);
}

std::vector<std::uint8_t> read_member(const std::filesystem::path& file, const Handle& handle,
                                      std::size_t size) {
  // Grown as data arrives: the header's word alone allocates no more than a first block.
  constexpr std::size_t kFirstBlock = 1 << 20;
  std::vector<std::uint8_t> bytes;
  std::size_t filled = 0;
  while (filled < size) {
    if (filled == bytes.size()) bytes.resize(std::min(size, std::max(kFirstBlock, 2 * filled)));
    const la_ssize_t got =
        archive_read_data(handle.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0) refuse_archive(file, handle);
    if (got == 0) refuse_archive(file, "a member ends too early");
    filled += std::size_t(got);
  }
  return bytes;
}

/// Unfolds a gzip file once more to compare length and CRC-32 with its trailer,
/// which libarchive skips: else a flipped bit that still unfolds would be
/// trained on. A file that is not gzip passes. Throws InputError naming file
/// and reason. Costs about a second for the official archive.
void require_sound_gzip(const std::filesystem::path& file) {
  const GzipFile in(gzopen(file.c_str(), "rb"));
  if (in == nullptr) refuse_archive(file, "it cannot be opened");
  std::vector<char> block(1 << 18);
  // Members are bounded already; this bounds what may follow the last of them.
  std::size_t total = 0;
  int got = 0;
  while ((got = gzread(in.get(), block.data(), unsigned(block.size()))) > 0) {
    total += std::size_t(got);
    if (total > kMaxUnfoldedBytes)
      refuse_archive(file, fmt::format("it unfolds to over {} bytes", kMaxUnfoldedBytes));
  }
  int code = Z_OK;
  const std::string reason = gzerror(in.get(), &code);
  if (got < 0 || code == Z_BUF_ERROR) refuse_archive(file, "its checksum does not fit: " + reason);
}

}  // namespace

std::vector<ArchiveMember> read_archive(const std::filesystem::path& archive,
                                        const std::function<bool(std::string_view)>& wanted) {
  const InputFile input{archive, fmt::format("cannot read the archive {}", archive.string()),
                        "download it again or give the unpacked directory"};
  require_regular_file(input, kMaxUnfoldedBytes);
  const Handle handle = open(archive);
  std::vector<ArchiveMember> members;
  std::size_t total = 0;
  for (std::size_t count = 0; archive_entry* entry = next_member(archive, handle); ++count) {
    if (count == kMaxMembers)
      refuse_archive(archive, fmt::format("it has over {} members", kMaxMembers));
    check_unfolded(archive, handle);
    const std::size_t size = member_size(archive, entry, total);
    total += size;
    const char* const path = archive_entry_pathname(entry);
    if (path == nullptr || !wanted(path)) continue;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr)
      refuse_archive(archive, fmt::format("member '{}' is not a regular file", path));
    members.push_back({path, read_member(archive, handle, size)});
  }
  require_sound_gzip(archive);
  return members;
}

}  // namespace rueda
