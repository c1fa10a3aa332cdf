#include "base/files.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../support/common.hpp"
#include "base/error.hpp"

using namespace rueda;
using test::content;
using test::ScratchDirectory;

TEST_CASE("an output is a whole new file, or replaces a regular one", "[files]") {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / "out";
  for (const char* text : {"one", "two"}) {
    CHECK(obstacle_to_output(path).empty());
    write_output(path, text);
    CHECK(content(path) == text);
    CHECK(scratch.files() == 1);
  }
}

TEST_CASE("a name may be as long as the system allows", "[files]") {
  const ScratchDirectory scratch;
  for (const std::size_t length : {240u, 250u, 255u}) {
    const fs::path path = scratch.path() / std::string(length, 'n');
    CHECK(obstacle_to_output(path).empty());
    write_output(path, "text");
    CHECK(content(path) == "text");
  }
  const fs::path path = scratch.path() / std::string(256, 'n');
  CHECK_THROWS_WITH(write_output(path, "text"), Catch::Contains("File name too long"));
  CHECK(scratch.files() == 3);
}

TEST_CASE("a temporary file belongs to one output", "[files]") {
  const ScratchDirectory scratch;
  std::string temporary;
  write_output(scratch.path() / "run.json", [&](const TextSink&) {
    std::error_code error;
    temporary = entries_of(scratch.path(), error).at(0).filename().string();
  });
  CHECK(is_temporary_of(temporary, "run.json"));
  CHECK_FALSE(is_temporary_of(temporary, "steps.csv"));
  CHECK_FALSE(is_temporary_of(temporary + "x", "run.json"));
}

TEST_CASE("links and folders are refused, and nothing changes", "[files]") {
  const ScratchDirectory scratch;
  const fs::path victim = scratch.write("victim", "mine");
  const fs::path to_file = scratch.path() / "to-file", to_nothing = scratch.path() / "to-nothing";
  const fs::path folder = scratch.path() / "folder";
  fs::create_symlink(victim, to_file);
  fs::create_symlink(scratch.path() / "none", to_nothing);
  fs::create_directory(folder);
  for (const fs::path& path : {to_file, to_nothing}) {
    CHECK_THAT(obstacle_to_output(path), Catch::Contains("link"));
    CHECK_THROWS_WITH(write_output(path, "theirs"), Catch::Contains("it is a link"));
    CHECK_THROWS_WITH(open_to_append(path), Catch::Contains("it is a link"));
    CHECK(fs::is_symlink(path));
  }
  CHECK(obstacle_to_output(folder) == "it is a folder");
  CHECK_THROWS_WITH(write_output(folder, "x"), Catch::Contains("it is a folder"));
  CHECK(content(victim) == "mine");
  CHECK_FALSE(fs::exists(scratch.path() / "none"));
}

TEST_CASE("a pipe is written into, and needs a reader", "[files]") {
  const ScratchDirectory scratch;
  const fs::path pipe = scratch.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(obstacle_to_output(pipe).empty());
  CHECK_THROWS_WITH(write_output(pipe, "lost"), Catch::Contains("nobody reads this pipe"));
  CHECK_THROWS_AS(open_to_append(pipe), RunError);
  const OpenFile reader(pipe, O_RDONLY | O_NONBLOCK);
  write_output(pipe, "text");
  std::string text(10, '\0');
  text.resize(std::size_t(std::max<ssize_t>(0, ::read(reader.fd(), text.data(), text.size()))));
  CHECK(text == "text");
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("a device is written into and stays a device", "[files]") {
  const ScratchDirectory scratch;
  const fs::path null = scratch.path() / "null", full = scratch.path() / "full";
  if (::mknod(null.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    WARN("skipped: making a device needs root");
    return;
  }
  REQUIRE(::mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) == 0);
  CHECK(obstacle_to_output(null).empty());
  if (const OpenFile probe(null, O_WRONLY); probe.fd() < 0) {
    WARN("skipped: this file system has no devices");
    return;
  }
  write_output(null, "text");
  CHECK_THROWS_WITH(write_output(full, "text"), Catch::Contains("No space left"));
  for (const fs::path& path : {null, full}) {
    CHECK(fs::is_character_file(path));
    CHECK_THROWS_AS(open_to_append(path), RunError);
  }
}

TEST_CASE("what is appended to is a regular file", "[files]") {
  const ScratchDirectory scratch;
  const fs::path path = scratch.path() / "log";
  for (int i = 0; i < 2; ++i) {
    const OpenFile file = open_to_append(path);
    REQUIRE(::write(file.fd(), "ab", 2) == 2);
  }
  CHECK(content(path) == "abab");
  append_to_file(path, "c");
  CHECK(content(path) == "ababc");
  const std::string long_piece(100'000, 'x');
  append_to_file(path, [&](const TextSink& put) {
    for (const char* piece : {"d", "", "e"}) put(piece);
    put(long_piece);
    put("f");
  });
  CHECK(content(path) == "ababcde" + long_piece + "f");
  fs::resize_file(path, 5);
  CHECK_THROWS_AS(append_to_file(scratch.path() / "none", "x"), RunError);
  fs::create_hard_link(path, scratch.path() / "other");
  for (const fs::path& name : {path, scratch.path() / "other"}) {
    CHECK_THROWS_WITH(open_to_append(name), Catch::Contains("a hard link"));
    CHECK_THROWS_WITH(append_to_file(name, "theirs"), Catch::Contains("a hard link"));
  }
  fs::create_symlink(path, scratch.path() / "link");
  CHECK_THROWS_WITH(append_to_file(scratch.path() / "link", "x"), Catch::Contains("it is a link"));
  CHECK(content(path) == "ababc");
}

TEST_CASE("a file that the kernel makes is refused unopened", "[files]") {
  for (const char* path : {"/proc/kmsg", "/proc/version"}) {
    const InputFile file{path, path, "give another", Wanted::archive};
    CHECK_THROWS_WITH(require_regular_file(file, 1'000), Catch::Contains("the kernel makes it"));
    CHECK_THROWS_WITH(read_whole(file, 1'000), Catch::Contains("the kernel makes it"));
  }
}
