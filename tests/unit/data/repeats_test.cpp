#include "data/repeats.hpp"

#include <catch2/catch.hpp>

#include "tests/support/data_files.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

/// A set of 100 training images in 5 files and 20 test images, spoilt in its directory.
std::vector<std::string> warnings_of(const std::function<void(const fs::path&)>& spoil) {
  const ScratchDirectory scratch;
  write_cifar10(numbered_dataset(100, 20), scratch.path(), Cifar10Format::binary);
  spoil(scratch.path());
  return read_cifar10(scratch.path()).warnings;
}

void copy_over(const fs::path& from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

}  // namespace

TEST_CASE("images that are there twice are told, a sentence for each kind", "[repeats]") {
  CHECK(warnings_of([](const fs::path&) {}).empty());

  auto told = warnings_of([](const fs::path& set) {
    copy_over(set / "data_batch_1.bin", set / "data_batch_2.bin");
    copy_over(set / "data_batch_1.bin", set / "data_batch_4.bin");
  });
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("data_batch_2.bin is ") && Contains("data_batch_1.bin, ") &&
                          Contains("data_batch_4.bin is ") && Contains("count twice"));

  told = warnings_of(
      [](const fs::path& set) { copy_over(set / "test_batch.bin", set / "data_batch_5.bin"); });
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("data_batch_5.bin has the images of the test file") &&
                          Contains("test_batch.bin"));

  told = warnings_of([](const fs::path& set) {
    Bytes bytes = read_bytes(set / "test_batch.bin");
    const Bytes other = read_bytes(set / "data_batch_3.bin");
    std::copy_n(other.begin() + 3073, 3073, bytes.begin() + 7 * 3073);
    write_bytes(set / "test_batch.bin", bytes);
  });
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("1 of 20 test images are also training images, the first is test "
                               "image 7"));

  told = warnings_of([](const fs::path& set) {
    Bytes bytes = read_bytes(set / "data_batch_2.bin");
    std::fill(bytes.begin() + 4 * 3073, bytes.end(), 0);
    write_bytes(set / "data_batch_2.bin", bytes);
  });
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("training images 24 to 39 are one and the same image"));
}

TEST_CASE("a label makes no other image, a single bit does", "[repeats]") {
  Dataset dataset = numbered_dataset(20, 1);
  dataset.test = dataset.train;
  dataset.test.truncate(1);
  dataset.test.labels[0] ^= 1;
  const std::vector<FileImages> files = {{"a", 0, 20}};
  CHECK(find_repeats(dataset, files, "t").size() == 1);
  for (std::size_t at = 0; at < kImageBytes; at += 97) {
    dataset.test.pixels[at] ^= 128;
    CHECK(find_repeats(dataset, files, "t").empty());
    dataset.test.pixels[at] ^= 128;
  }
}

TEST_CASE("what the data check remarks begins with the warnings", "[repeats]") {
  const ScratchDirectory scratch;
  write_cifar10(numbered_dataset(10, 2), scratch.path(), Cifar10Format::binary);
  copy_over(scratch.path() / "test_batch.bin", scratch.path() / "data_batch_1.bin");
  CHECK_THAT(check_cifar10(scratch.path()).remarks.at(0), Contains("images of the test file"));
}

}  // namespace rueda::test
