#include "data/repeats.hpp"

#include <catch2/catch.hpp>

#include "data/cifar10.hpp"
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

TEST_CASE("the same image with two labels is told as that", "[repeats]") {
  Dataset dataset = numbered_dataset(20, 1);
  const std::vector<FileImages> files = {{"a", 0, 10}, {"b", 10, 20}};
  std::copy_n(dataset.train.pixels.begin(), 10 * kImageBytes,
              dataset.train.pixels.begin() + 10 * kImageBytes);
  std::copy_n(dataset.train.labels.begin(), 10, dataset.train.labels.begin() + 10);
  CHECK(find_repeats(dataset, files, "t").size() == 1);  // b is a
  dataset.train.labels[13] = dataset.train.labels[3] == 7 ? 8 : 7;
  dataset.train.labels[15] = dataset.train.labels[5] == 7 ? 8 : 7;
  const auto told = find_repeats(dataset, files, "t");
  REQUIRE(told.size() == 2);
  CHECK_THAT(told[1], Contains("2 of 20 training images are there before with another label") &&
                          Contains("image 13 (label 7), which is image 3 (label 0)"));
}

TEST_CASE("a training file that is missing is told by its name", "[cifar10]") {
  const auto told_without = [](const std::vector<int>& numbers) {
    const auto warnings = warnings_of([&](const fs::path& set) {
      for (const int number : numbers)
        fs::remove(set / ("data_batch_" + std::to_string(number) + ".bin"));
    });
    return warnings.empty() ? std::string() : warnings.at(0);
  };
  CHECK(told_without({}).empty());
  CHECK(told_without({5}).empty());
  CHECK(told_without({1}) ==
        "1 training file up to number 5 is not there (data_batch_1.bin): copy or download the set "
        "again");
  CHECK_THAT(told_without({1, 3, 4}),
             Contains("3 training files up to number 5 are not there (data_batch_1.bin, "
                      "data_batch_3.bin, data_batch_4.bin)"));
  const auto far = warnings_of([](const fs::path& set) {
    fs::rename(set / "data_batch_5.bin", set / "data_batch_2000000000.bin");
  });
  CHECK_THAT(far.at(0),
             Contains("1,999,999,995 training files") && Contains("data_batch_9.bin, ...)"));
}

TEST_CASE("labels of a training set are looked at as a whole", "[cifar10]") {
  Dataset dataset = numbered_dataset(50, 1);
  dataset.class_names = {"cat", "dog", "猫"};
  const auto fault_of = [&](std::vector<std::uint8_t> labels) {
    for (std::size_t i = 0; i < dataset.train.size(); ++i)
      dataset.train.labels[i] = labels[i % labels.size()];
    return label_fault(dataset.train, dataset.class_names);
  };
  CHECK(fault_of({0, 1, 2}).empty());
  CHECK(fault_of({0, 1}) ==
        "1 of 3 classes have no training image (猫): they cannot be learned; check the labels, and "
        "the names in batches.meta");
  CHECK_THAT(fault_of({2}), Contains("all 50 training images are of one of the 3 classes, label 2 "
                                     "(猫)"));
  dataset.class_names.resize(200, "more");
  CHECK_THAT(fault_of({0, 1}),
             Contains("198 of 200 classes") && Contains("(猫, more, more, more, more, ...)"));
  const ScratchDirectory scratch;
  write_cifar10(dataset, scratch.path(), Cifar10Format::binary);
  CHECK_THAT(read_cifar10(scratch.path()).warnings.at(0), Contains("198 of 200 classes"));
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
