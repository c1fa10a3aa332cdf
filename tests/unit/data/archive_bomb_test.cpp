// Small archives that unfold to more than any data set: docs/reliability.md.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

#include <archive.h>
#include <archive_entry.h>
#include <catch2/catch.hpp>

#include "data/cifar10_files.hpp"
#include "tests/support/data_files.hpp"

using Catch::Matchers::Contains;
using rueda::read_archive;
using rueda::test::Bytes;
using rueda::test::read_bytes;
using rueda::test::refusal;
using rueda::test::TempDirectory;
using rueda::test::write_bytes;

namespace {

constexpr std::size_t kRecordBytes = 1'000'000;  // of an extended header; libarchive takes no more

void append_header(Bytes& tar, char type, std::size_t size) {
  Bytes header(512);
  const auto put = [&](std::size_t at, const char* format, std::size_t value) {
    std::snprintf(reinterpret_cast<char*>(header.data()) + at, 13, format, value);
  };
  std::memcpy(header.data(), "member", 6);
  put(100, "%07zo", 0644);
  put(124, "%011zo", size);
  header[156] = static_cast<std::uint8_t>(type);
  std::memcpy(header.data() + 257, "ustar\00000", 8);
  std::memset(header.data() + 148, ' ', 8);
  put(148, "%06zo", std::accumulate(header.begin(), header.end(), std::size_t{0}));
  header[155] = ' ';
  tar.insert(tar.end(), header.begin(), header.end());
}

/// An empty file with a comment of nearly a megabyte.
void append_commented_member(Bytes& tar) {
  append_header(tar, 'x', kRecordBytes);
  std::string record = std::to_string(kRecordBytes) + " comment=";
  record.resize(kRecordBytes - 1, 'a');
  record += '\n';
  record.resize((record.size() + 511) / 512 * 512, '\0');
  tar.insert(tar.end(), record.begin(), record.end());
  append_header(tar, '0', 0);
}

Bytes packed(const TempDirectory& scratch, const Bytes& bytes) {
  const auto file = scratch.path() / "part.gz";
  archive* gzip = archive_write_new();
  archive_write_add_filter_gzip(gzip);
  archive_write_set_format_raw(gzip);
  archive_write_open_filename(gzip, file.c_str());
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(gzip, entry);
  archive_write_data(gzip, bytes.data(), bytes.size());
  archive_entry_free(entry);
  archive_write_free(gzip);
  return read_bytes(file);
}

/// What unfolds to `first`, then `times` times to `block`: gzip files may stand one after the
/// other. At its end it is cut off, which who reads on beyond the limit will find.
void write_bomb(const TempDirectory& scratch, const std::filesystem::path& file, const Bytes& first,
                const Bytes& block, std::size_t times) {
  Bytes bomb = first.empty() ? Bytes() : packed(scratch, first);
  const Bytes part = packed(scratch, block);
  for (std::size_t i = 0; i < times; ++i) bomb.insert(bomb.end(), part.begin(), part.end());
  bomb.resize(bomb.size() - part.size() / 2);
  REQUIRE(bomb.size() < 10'000'000);
  write_bytes(file, bomb);
}

std::string refused(const std::filesystem::path& file) {
  return refusal([&] { read_archive(file, [](std::string_view) { return true; }); });
}

}  // namespace

TEST_CASE("an archive of extended headers without end is refused", "[archive][hostile]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  Bytes block;
  for (int i = 0; i < 32; ++i) append_commented_member(block);
  write_bomb(scratch, file, {}, block, 80);
  CHECK_THAT(refused(file), Contains("unfolds to over 2200000000 bytes"));
}

TEST_CASE("a bomb behind the last member is refused", "[archive][hostile]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  Bytes whole;
  append_header(whole, '0', 0);
  whole.resize(whole.size() + 1024);
  write_bomb(scratch, file, whole, Bytes(32'000'000), 80);
  CHECK_THAT(refused(file), Contains("unfolds to over 2200000000 bytes"));
}

TEST_CASE("an archive of more members than any set is refused", "[archive][hostile]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  Bytes block;
  for (int i = 0; i < 1000; ++i) append_header(block, '0', 0);
  write_bomb(scratch, file, {}, block, 11);
  CHECK_THAT(refused(file), Contains("over 10000 members"));
}
