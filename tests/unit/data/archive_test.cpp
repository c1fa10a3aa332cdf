#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "data/cifar10_files.hpp"
#include "tests/support/data_files.hpp"

using Catch::Matchers::Contains;
using rueda::ArchiveMember;
using rueda::read_archive;
using rueda::test::Bytes;
using rueda::test::read_bytes;
using rueda::test::refusal;
using rueda::test::TempDirectory;
using rueda::test::write_bytes;
using rueda::test::write_tar_gz;

namespace {

bool every_member(std::string_view) { return true; }

/// Bytes that do not compress, so that cuts of the archive fall into them.
Bytes noise(std::size_t count, std::uint32_t state = 12345) {
  Bytes bytes(count);
  for (auto& byte : bytes)
    byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
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
    limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

/// Header of a regular file "bomb" that claims `size` bytes.
Bytes tar_header(std::size_t size) {
  Bytes header(512);
  const auto put = [&](std::size_t at, const char* format, std::size_t value) {
    std::snprintf(reinterpret_cast<char*>(header.data()) + at, 13, format, value);
  };
  std::memcpy(header.data(), "bomb", 4);
  put(100, "%07zo", 0644);
  put(124, "%011zo", size);
  std::memcpy(header.data() + 257, "ustar\00000", 8);
  std::memset(header.data() + 148, ' ', 8);
  put(148, "%06zo", std::accumulate(header.begin(), header.end(), std::size_t{0}));
  header[155] = ' ';
  return header;
}

}  // namespace

TEST_CASE("wanted members are read in order, others skipped", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  write_tar_gz(file, {{"a/one", {1, 2, 3}}, {"a/two", noise(5000)}, {"b/three", {}}});
  const auto members = read_archive(file, [](std::string_view path) { return path != "a/one"; });
  REQUIRE(members.size() == 2);
  CHECK(members[0].path == "a/two");
  CHECK(members[0].bytes == noise(5000));
  CHECK(members[1].path == "b/three");
  CHECK(members[1].bytes.empty());
}

TEST_CASE("members larger than the first block are read whole", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  const Bytes large = noise(3'500'000);
  write_tar_gz(file, {{"large", large}});
  CHECK(read_archive(file, every_member).at(0).bytes == large);
}

TEST_CASE("a truncated archive is refused wherever it is cut", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  write_tar_gz(file, {{"one", noise(3000)}, {"two", noise(3000, 99)}});
  const Bytes whole = read_bytes(file);
  REQUIRE(whole.size() > 6000);
  for (std::size_t cut = 0; cut < 6000; cut += 97) {
    CAPTURE(cut);
    write_bytes(file, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
    CHECK_THAT(
        refusal([&] { read_archive(file, every_member); }),
        Contains("cannot read the archive " + file.string()) && Contains("download it again"));
  }
}

TEST_CASE("a checksum that does not fit is refused", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  write_tar_gz(file, {{"one", noise(3000)}});
  CHECK_NOTHROW(read_archive(file, every_member));
  Bytes damaged = read_bytes(file);
  damaged[damaged.size() - 8] ^= 1;  // the CRC-32 is the last but one word
  write_bytes(file, damaged);
  CHECK_THAT(refusal([&] { read_archive(file, every_member); }), Contains("checksum"));
}

TEST_CASE("damaged bytes never crash the archive reader", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  write_tar_gz(file, {{"one", noise(3000)}, {"two", Bytes(3000, 7)}});
  const Bytes whole = read_bytes(file);
  for (std::size_t i = 0; i < whole.size(); i += 13) {
    Bytes damaged = whole;
    damaged[i] ^= 0xa5;
    write_bytes(file, damaged);
    refusal([&] { read_archive(file, every_member); });
  }
  SUCCEED();
}

TEST_CASE("a member that is a link is refused if it is wanted", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  write_tar_gz(file, {{"link", {}, true}, {"real", {1}}});
  CHECK_THAT(refusal([&] { read_archive(file, every_member); }),
             Contains("member 'link' is not a regular file"));
  CHECK(read_archive(file, [](std::string_view path) { return path == "real"; }).size() == 1);
}

TEST_CASE("a member larger than any CIFAR-10 file is refused by its header", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar";
  write_bytes(file, tar_header(rueda::kMaxFileBytes + 1));
  for (const bool wanted : {true, false})
    CHECK_THAT(refusal([&] { read_archive(file, [&](std::string_view) { return wanted; }); }),
               Contains("200000001 bytes"));
}

TEST_CASE("a member that is announced but not there costs no memory", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar";
  write_bytes(file, tar_header(rueda::kMaxFileBytes));
  const AddressSpaceLimit limit(rueda::kMaxFileBytes / 2);
  CHECK_THAT(refusal([&] { read_archive(file, every_member); }), Contains(file.string()));
}

TEST_CASE("an archive larger than any CIFAR-10 set is refused", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar";
  constexpr std::size_t kMembers = 11;
  // A file with holes: headers where members would begin, nothing in between.
  std::ofstream stream(file, std::ios::binary);
  const Bytes header = tar_header(rueda::kMaxFileBytes);
  for (std::size_t i = 0; i < kMembers; ++i) {
    stream.seekp(static_cast<std::streamoff>(i * (header.size() + rueda::kMaxFileBytes)));
    stream.write(reinterpret_cast<const char*>(header.data()), 512);
  }
  stream.close();
  CHECK_THAT(refusal([&] { read_archive(file, [](std::string_view) { return false; }); }),
             Contains("2000000000 bytes in all"));
}

TEST_CASE("a file that is no archive is refused", "[archive]") {
  const TempDirectory scratch;
  const auto file = scratch.path() / "set.tar.gz";
  CHECK_THAT(refusal([&] { read_archive(file, every_member); }), Contains(file.string()));
  for (const Bytes& bytes : {Bytes{}, Bytes{'h', 'e', 'l', 'l', 'o'}, noise(2000)}) {
    write_bytes(file, bytes);
    CHECK_THAT(refusal([&] { read_archive(file, every_member); }), Contains(file.string()));
  }
}
