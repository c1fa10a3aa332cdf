#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

#include <archive.h>
#include <archive_entry.h>
#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "data/cifar10_files.hpp"
#include "tests/support/data_files.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

bool every_member(std::string_view) { return true; }

/// Bytes that do not compress, so that cuts of the archive fall into them.
Bytes noise(std::size_t count, std::uint32_t state = 12345) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = std::uint8_t((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

/// As long as it lives, the process gets at most `more` bytes of address space than it has.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(std::size_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    REQUIRE(pages > 0);
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = pages * std::size_t(sysconf(_SC_PAGESIZE)) + more;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

void append_header(Bytes& tar, char type, std::size_t size) {
  Bytes header(512);
  const auto put = [&](std::size_t at, const char* format, std::size_t value) {
    std::snprintf(reinterpret_cast<char*>(header.data()) + at, 13, format, value);
  };
  std::memcpy(header.data(), "member", 6);
  put(100, "%07zo", 0644);
  put(124, "%011zo", size);
  header[156] = std::uint8_t(type);
  std::memcpy(header.data() + 257, "ustar\00000", 8);
  std::memset(header.data() + 148, ' ', 8);
  put(148, "%06zo", std::accumulate(header.begin(), header.end(), std::size_t{0}));
  header[155] = ' ';
  tar.insert(tar.end(), header.begin(), header.end());
}

/// Header of a regular file that claims `size` bytes.
Bytes tar_header(std::size_t size) {
  Bytes header;
  append_header(header, '0', size);
  return header;
}

/// An archive in a directory of its own.
struct Scratch {
  ScratchDirectory directory;
  std::filesystem::path file = directory.path() / "set.tar.gz";

  std::vector<ArchiveMember> read() const { return read_archive(file, every_member); }
  std::string refused(std::size_t most_unfolded = kMaxUnfoldedBytes) const {
    return refusal([&] { read_archive(file, every_member, most_unfolded); });
  }
};

// Small archives that unfold to more than any data set: docs/reliability.md.

constexpr std::size_t kRecordBytes = 1'000'000;  // of an extended header; libarchive takes no more

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

Bytes packed(const Scratch& scratch, const Bytes& bytes) {
  const auto file = scratch.directory.path() / "part.gz";
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
void write_bomb(const Scratch& scratch, const Bytes& first, const Bytes& block, std::size_t times) {
  Bytes bomb = first.empty() ? Bytes() : packed(scratch, first);
  const Bytes part = packed(scratch, block);
  for (std::size_t i = 0; i < times; ++i) bomb.insert(bomb.end(), part.begin(), part.end());
  bomb.resize(bomb.size() - part.size() / 2);
  REQUIRE(bomb.size() < 10'000'000);
  write_bytes(scratch.file, bomb);
}

}  // namespace

TEST_CASE("wanted members are read in order and whole, others skipped", "[archive]") {
  const Scratch scratch;
  write_tar_gz(scratch.file, {{"a/one", {1, 2, 3}}, {"a/two", noise(5000)}, {"b/three", {}}});
  const auto members =
      read_archive(scratch.file, [](std::string_view path) { return path != "a/one"; });
  REQUIRE(members.size() == 2);
  CHECK(members[0].path == "a/two");
  CHECK(members[0].bytes == noise(5000));
  CHECK(members[1].path == "b/three");
  CHECK(members[1].bytes.empty());
  const Bytes large = noise(3'500'000);
  write_tar_gz(scratch.file, {{"large", large}});
  CHECK(scratch.read().at(0).bytes == large);
}

TEST_CASE("a truncated archive and a wrong checksum are refused", "[archive]") {
  const Scratch scratch;
  write_tar_gz(scratch.file, {{"one", noise(3000)}, {"two", noise(3000, 99)}});
  const Bytes whole = read_bytes(scratch.file);
  REQUIRE(whole.size() > 6000);
  for (std::size_t cut = 0; cut < 6000; cut += 97) {
    CAPTURE(cut);
    write_bytes(scratch.file, Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(cut)));
    CHECK_THAT(scratch.refused(), Contains("cannot read the archive " + scratch.file.string()) &&
                                      Contains("download it again"));
  }
  write_tar_gz(scratch.file, {{"one", noise(3000)}});
  CHECK_NOTHROW(scratch.read());
  Bytes damaged = read_bytes(scratch.file);
  damaged[damaged.size() - 8] ^= 1;  // the CRC-32 is the last but one word
  write_bytes(scratch.file, damaged);
  CHECK_THAT(scratch.refused(), Contains("checksum"));
}

TEST_CASE("damaged bytes never crash the archive reader", "[archive]") {
  const Scratch scratch;
  write_tar_gz(scratch.file, {{"one", noise(3000)}, {"two", Bytes(3000, 7)}});
  const Bytes whole = read_bytes(scratch.file);
  for (std::size_t i = 0; i < whole.size(); i += 13) {
    Bytes damaged = whole;
    damaged[i] ^= 0xa5;
    write_bytes(scratch.file, damaged);
    scratch.refused();
  }
  SUCCEED();
}

TEST_CASE("a member that is a link is refused if it is wanted", "[archive]") {
  const Scratch scratch;
  write_tar_gz(scratch.file, {{"link", {}, true}, {"real", {1}}});
  CHECK_THAT(scratch.refused(), Contains("member 'link' is not a regular file"));
  CHECK(read_archive(scratch.file, [](std::string_view path) { return path == "real"; }).size() ==
        1);
}

TEST_CASE("too large a member is refused by its header, a missing one costs no memory",
          "[archive]") {
  const Scratch scratch;
  write_bytes(scratch.file, tar_header(kMaxFileBytes + 1));
  for (const bool wanted : {true, false})
    CHECK_THAT(
        refusal([&] { read_archive(scratch.file, [&](std::string_view) { return wanted; }); }),
        Contains("200000001 bytes"));
  write_bytes(scratch.file, tar_header(kMaxFileBytes));
  const AddressSpaceLimit limit(kMaxFileBytes / 2);
  CHECK_THAT(scratch.refused(), Contains(scratch.file.string()));
}

TEST_CASE("an archive larger than any CIFAR-10 set is refused", "[archive]") {
  const Scratch scratch;
  constexpr std::size_t kMembers = 11;
  // A file with holes: headers where members would begin, nothing in between.
  std::ofstream stream(scratch.file, std::ios::binary);
  const Bytes header = tar_header(kMaxFileBytes);
  for (std::size_t i = 0; i < kMembers; ++i) {
    stream.seekp(static_cast<std::streamoff>(i * (header.size() + kMaxFileBytes)));
    stream.write(reinterpret_cast<const char*>(header.data()), 512);
  }
  stream.close();
  CHECK_THAT(refusal([&] { read_archive(scratch.file, [](std::string_view) { return false; }); }),
             Contains("2000000000 bytes in all"));
}

TEST_CASE("a file that is no archive is refused", "[archive]") {
  const Scratch scratch;
  CHECK_THAT(scratch.refused(), Contains(scratch.file.string()));
  for (const Bytes& bytes : {Bytes{}, Bytes{'h', 'e', 'l', 'l', 'o'}, noise(2000)}) {
    write_bytes(scratch.file, bytes);
    CHECK_THAT(scratch.refused(), Contains(scratch.file.string()));
  }
}

TEST_CASE("a gzip file of one file is told from an archive that is damaged", "[archive]") {
  const Scratch scratch;
  Bytes batch = noise(2000);
  batch[0] = 7;
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\n";
  write_bytes(scratch.file, packed(scratch, batch));
  CHECK_THAT(scratch.refused(), Contains("in it one file that is no archive; if that is one") &&
                                    Contains("gunzip " + scratch.file.string()));
  write_bytes(scratch.file, packed(scratch, {pointer.begin(), pointer.end()}));
  CHECK_THAT(scratch.refused(), Contains("in it a Git LFS pointer"));
  Bytes tar = tar_header(5);
  tar[0] ^= 1;  // its checksum does not fit
  tar.resize(2048);
  write_bytes(scratch.file, packed(scratch, tar));
  CHECK_THAT(scratch.refused(), Contains("download it again"));
}

/// Headers alone, of which each may have a comment.
void write_endless_headers(const Scratch& scratch, std::size_t block_members, std::size_t blocks) {
  Bytes block;
  for (std::size_t i = 0; i < block_members; ++i) append_commented_member(block);
  write_bomb(scratch, {}, block, blocks);
}

/// An archive, and zeros after its end.
void write_bomb_after_the_end(const Scratch& scratch, std::size_t block_bytes, std::size_t blocks) {
  Bytes whole;
  append_header(whole, '0', 0);
  whole.resize(whole.size() + 1024);
  write_bomb(scratch, whole, Bytes(block_bytes), blocks);
}

TEST_CASE("an archive of extended headers without end is refused", "[archive][hostile]") {
  const Scratch scratch;
  write_endless_headers(scratch, 2, 8);
  CHECK_THAT(scratch.refused(8'000'000), Contains("unfolds to over 8000000 bytes"));
}

TEST_CASE("a bomb after the last member is refused", "[archive][hostile]") {
  const Scratch scratch;
  write_bomb_after_the_end(scratch, 2'000'000, 8);
  CHECK_THAT(scratch.refused(8'000'000), Contains("unfolds to over 8000000 bytes"));
}

TEST_CASE("bombs are refused at the limit that holds where none is given",
          "[archive][hostile][long]") {
  const Scratch scratch;
  write_endless_headers(scratch, 32, 80);
  CHECK_THAT(scratch.refused(), Contains("unfolds to over 2200000000 bytes"));
  write_bomb_after_the_end(scratch, 32'000'000, 80);
  CHECK_THAT(scratch.refused(), Contains("unfolds to over 2200000000 bytes"));
}

TEST_CASE("an archive of more members than any set is refused", "[archive][hostile]") {
  const Scratch scratch;
  Bytes block;
  for (int i = 0; i < 1000; ++i) append_header(block, '0', 0);
  write_bomb(scratch, {}, block, 11);
  CHECK_THAT(scratch.refused(), Contains("over 10000 members"));
}

}  // namespace rueda::test
