#include <algorithm>
#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <zlib.h>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "data/cifar10_files.hpp"

namespace rueda {
namespace {

using GzipFile = std::unique_ptr<gzFile_s, decltype([](gzFile_s* file) { gzclose(file); })>;
constexpr std::size_t kMaxMembers = 10'000;

using Handle =
    std::unique_ptr<::archive, decltype([](::archive* handle) { archive_read_free(handle); })>;

[[noreturn]] void refuse(const InputFile& file, const Handle& handle) {
  const char* const text = archive_error_string(handle.get());
  const std::string reason = text != nullptr ? text : "it is damaged";
  const auto offset = archive_filter_bytes(handle.get(), -1);
  file.refuse(offset < 0 ? reason : fmt::format("{} (at byte {} of the file)", reason, offset));
}

void check_unfolded(const InputFile& file, std::int64_t bytes, std::size_t most) {
  file.require(bytes <= std::int64_t(most), fmt::format("it unfolds to over {} bytes", most));
}

/// Refuses a gzip file of one file that is no archive.
void require_packed_archive(const InputFile& file) {
  const GzipFile in(gzopen(file.path.c_str(), "rb"));
  if (in == nullptr || gzdirect(in.get()) != 0) return;
  std::string head(kHeadBytes, '\0');
  const int got = gzread(in.get(), head.data(), unsigned(head.size()));
  head.resize(std::size_t(std::max(got, 0)));
  const auto other = other_kind(head, Wanted::archive, file.path);
  constexpr std::string_view kTar = "ustar";
  constexpr std::size_t kTarAt = 257;
  if (!other && (head.size() < kHeadBytes || head.substr(kTarAt).starts_with(kTar))) return;
  const std::string content = other ? other->name : "one file that is no archive";
  throw InputError(fmt::format(
      "{}: it is a gzip file, in it {}; if that is one file of a CIFAR-10 set, unpack it and give "
      "the directory that holds all of them: gunzip {}",
      file.name, content, shell_word(escaped(file.path.string()))));
}

Handle open(const InputFile& file) {
  constexpr std::size_t kBlockBytes = 1 << 16;
  Handle handle(archive_read_new());
  file.require(handle != nullptr, "out of memory");
  archive_read_support_filter_gzip(handle.get());
  archive_read_support_format_tar(handle.get());
  if (archive_read_open_filename(handle.get(), file.path.c_str(), kBlockBytes) == ARCHIVE_OK)
    return handle;
  require_packed_archive(file);
  refuse(file, handle);
}

/// Steps to the next member; null at the end.
archive_entry* next_member(const InputFile& file, const Handle& handle) {
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(handle.get(), &entry);
  if (status == ARCHIVE_EOF) return nullptr;
  // A warning is about a name's character set or a time stamp, neither of which matters.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) refuse(file, handle);
  return entry;
}

/// Size that the member's header states, checked. Nothing is unfolded before.
std::size_t member_size(const InputFile& file, archive_entry* entry, std::size_t already) {
  const std::int64_t size = archive_entry_size(entry);
  file.require(size >= 0 && std::uint64_t(size) <= kMaxFileBytes,
               fmt::format("a member claims {} bytes, more than the {} of any CIFAR-10 file", size,
                           kMaxFileBytes));
  file.require(already + std::size_t(size) <= kMaxSetBytes,
               fmt::format("its members are larger than {} bytes in all", kMaxSetBytes));
  return std::size_t(size);
}

std::vector<std::uint8_t> read_member(const InputFile& file, const Handle& handle,
                                      std::size_t size) {
  // Grown as data arrives: the header's word alone allocates no more than a first block.
  constexpr std::size_t kFirstBlock = 1 << 20;
  std::vector<std::uint8_t> bytes;
  std::size_t filled = 0;
  while (filled < size) {
    if (filled == bytes.size()) bytes.resize(std::min(size, std::max(kFirstBlock, 2 * filled)));
    const la_ssize_t got =
        archive_read_data(handle.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0) refuse(file, handle);
    file.require(got > 0, "a member ends too early");
    filled += std::size_t(got);
  }
  return bytes;
}

/// Unfolds a gzip file once more to compare length and CRC-32 with its trailer,
/// which libarchive skips: else a flipped bit that still unfolds would be
/// trained on. A file that is not gzip passes. Throws InputError naming file
/// and reason. Costs about a second for the official archive.
void require_sound_gzip(const InputFile& file, std::size_t most) {
  const GzipFile in(gzopen(file.path.c_str(), "rb"));
  file.require(in != nullptr, "it cannot be opened");
  std::vector<char> block(1 << 18);
  // Members are bounded already; this bounds what may follow the last of them.
  std::int64_t total = 0;
  int got = 0;
  while ((got = gzread(in.get(), block.data(), unsigned(block.size()))) > 0) {
    total += got;
    check_unfolded(file, total, most);
  }
  int code = Z_OK;
  const std::string reason = gzerror(in.get(), &code);
  file.require(got >= 0 && code != Z_BUF_ERROR, "its checksum does not fit: " + reason);
}

}  // namespace

std::vector<ArchiveMember> read_archive(const std::filesystem::path& archive,
                                        const std::function<bool(std::string_view)>& wanted,
                                        std::size_t most_unfolded) {
  const InputFile file{archive, fmt::format("cannot read the archive {}", archive.string()),
                       "download it again or give the unpacked directory", Wanted::archive};
  require_regular_file(file, most_unfolded);
  const Handle handle = open(file);
  std::vector<ArchiveMember> members;
  std::size_t total = 0;
  for (std::size_t count = 0; archive_entry* entry = next_member(file, handle); ++count) {
    file.require(count < kMaxMembers, fmt::format("it has over {} members", kMaxMembers));
    // What stands between members counts as well: each may have up to 32 MB of extended headers.
    check_unfolded(file, archive_filter_bytes(handle.get(), 0), most_unfolded);
    const std::size_t size = member_size(file, entry, total);
    total += size;
    const char* const path = archive_entry_pathname(entry);
    if (path == nullptr || !wanted(path)) continue;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr)
      file.refuse(fmt::format("member '{}' is not a regular file", printable(path)));
    members.push_back({path, read_member(file, handle, size)});
  }
  require_sound_gzip(file, most_unfolded);
  return members;
}

}  // namespace rueda
