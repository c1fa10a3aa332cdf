#include "data/cifar10.hpp"

#include <catch2/catch.hpp>
#include <fmt/ranges.h>

#include "rueda/data/dataset.hpp"
#include "tests/support/data_files.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

void check_same(const Dataset& read, const Dataset& made) {
  CHECK(read.train.labels == made.train.labels);
  CHECK(read.train.pixels == made.train.pixels);
  CHECK(read.test.labels == made.test.labels);
  CHECK(read.test.pixels == made.test.pixels);
  CHECK(read.class_names == made.class_names);
}

std::string official_directory(Cifar10Format format) {
  return format == Cifar10Format::binary ? "cifar-10-batches-bin" : "cifar-10-batches-py";
}

/// A small set in a directory of its official name; gives that directory.
fs::path make_set(const fs::path& parent, const Dataset& dataset, Cifar10Format format) {
  const fs::path directory = parent / official_directory(format);
  write_cifar10(dataset, directory, format);
  return directory;
}

std::string read_refusal(const fs::path& where) {
  return refusal([&] { read_cifar10(where); });
}

}  // namespace

TEST_CASE("all four forms and the parent directory read alike", "[cifar10]") {
  const Dataset made = numbered_dataset(23, 4);
  for (const auto format : {Cifar10Format::binary, Cifar10Format::python}) {
    CAPTURE(official_directory(format));
    const ScratchDirectory scratch;
    const fs::path directory = make_set(scratch.path(), made, format);
    check_same(read_cifar10(directory), made);
    check_same(read_cifar10(scratch.path()), made);
    for (const std::string& prefix : {official_directory(format), "./" + official_directory(format),
                                      "x/../" + official_directory(format), std::string(".")}) {
      CAPTURE(prefix);
      const fs::path archive = scratch.path() / "set.tar.gz";
      write_tar_gz(archive, members_of(directory, prefix));
      check_same(read_cifar10(archive), made);
    }
  }
}

TEST_CASE("sets of unofficial size are read and remarked", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path directory =
      make_set(scratch.path(), numbered_dataset(10, 2), Cifar10Format::binary);
  fs::remove(directory / "data_batch_3.bin");
  fs::rename(directory / "data_batch_2.bin", directory / "data_batch_10.bin");
  fs::rename(directory / "data_batch_1.bin", directory / "data_batch_9.bin");
  fs::remove(directory / "batches.meta.txt");
  const Dataset read = read_cifar10(directory);
  REQUIRE(read.remarks.size() == 2);
  CHECK(read.remarks[0] ==
        "training set of 8 images from file 4, 5, 9, 10 (official: 50,000 images, "
        "files 1 to 5)");
  CHECK(read.remarks[1] == "test set of 2 images (official: 10,000)");
  CHECK(read.class_names[0] == "airplane");
  const auto made = numbered_images(10).labels;
  CHECK(read.train.labels ==
        Bytes{made[6], made[7], made[8], made[9], made[0], made[1], made[2], made[3]});
}

TEST_CASE("a set with classes of its own is not compared with the official sizes", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path set = make_set(scratch.path(), numbered_dataset(8, 2), Cifar10Format::binary);
  CHECK(read_cifar10(set).remarks.empty());
  fs::remove(set / "batches.meta.txt");
  CHECK(read_cifar10(set).remarks.size() == 2);
}

TEST_CASE("of both versions the binary one is read, if it is whole", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path bin = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::binary);
  make_set(scratch.path(), numbered_dataset(6, 1), Cifar10Format::python);
  const Dataset both = read_cifar10(scratch.path());
  CHECK(both.train.size() == 5);
  CHECK_THAT(both.remarks.at(0), Contains("more than one") && Contains("binary"));
  fs::remove(bin / "test_batch.bin");
  CHECK(read_cifar10(scratch.path()).train.size() == 6);
}

TEST_CASE("missing things are refused by name", "[cifar10]") {
  const ScratchDirectory scratch;
  CHECK_THAT(read_refusal(scratch.path() / "nowhere"), Contains("nowhere"));
  CHECK_THAT(read_refusal(scratch.path()), Contains("holds no CIFAR-10 files") &&
                                               Contains("; give a directory or .tar.gz that does"));
  const fs::path py = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::python);
  fs::remove(py / "test_batch");
  CHECK_THAT(read_refusal(py), Contains("no test file (test_batch)"));
  const fs::path bin = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::binary);
  for (int i = 1; i <= 5; ++i) fs::remove(bin / ("data_batch_" + std::to_string(i) + ".bin"));
  CHECK_THAT(read_refusal(bin), Contains("no training file (data_batch_1.bin"));
}

TEST_CASE("a directory of sets points to one, and a link to what is not there says where it leads",
          "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path set = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::binary);
  fs::rename(set, scratch.path() / "mine");
  const fs::path mine = scratch.path() / "mine";
  CHECK_THAT(read_refusal(scratch.path()), Contains("; give " + mine.string()));
  CHECK(read_cifar10(mine).remarks.empty());
  fs::remove(mine / "data_batch_3.bin");
  fs::create_symlink("/nowhere/it", mine / "data_batch_3.bin");
  const std::string leads = "it is a link to /nowhere/it, and nothing is there; ";
  CHECK_THAT(read_refusal(mine), Contains("data_batch_3.bin: it cannot be opened: " + leads));
  fs::create_symlink("/nowhere/it", scratch.path() / "link");
  CHECK_THAT(read_refusal(scratch.path() / "link"), Contains("link: " + leads));
  fs::remove(mine / "data_batch_3.bin");
  fs::create_directory(mine / "data_batch_3.bin");
  CHECK_THAT(read_refusal(mine), Contains("data_batch_3.bin: it is a directory; replace"));
}

TEST_CASE("a directory with the archive in it points to the archive", "[cifar10]") {
  const ScratchDirectory scratch;
  write_bytes(scratch.path() / "cifar-10-python.tar.gz", {1});
  CHECK_THAT(read_refusal(scratch.path()),
             Contains((scratch.path() / "cifar-10-python.tar.gz").string()));
}

TEST_CASE("CIFAR-100 and one file of a set are named, not called damaged", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path set = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::binary);
  for (const char* name : {"data_batch_2.bin", "renamed"}) {
    if (name == std::string("renamed")) fs::copy_file(set / "test_batch.bin", set / name);
    CHECK_THAT(read_refusal(set / name),
               Contains("is one file of a CIFAR-10 set") && Contains(": " + set.string()));
  }
  Bytes records(3 * 3074, 50);
  for (std::size_t i = 0; i < records.size(); i += 3074) records[i] = 19;
  write_bytes(set / "data_batch_2.bin", records);
  CHECK_THAT(read_refusal(set), Contains("data_batch_2.bin is of CIFAR-100"));
  write_bytes(set / "data_batch_2.bin", {0x1f, 0x8b, 8, 0});
  CHECK_THAT(read_refusal(set), Contains("it is a gzip file; unpack it: gunzip"));

  for (const char* name : {"fine_label_names.txt", "cifar-100-python/train"}) {
    const ScratchDirectory other;
    other.write(name, "x");
    CHECK_THAT(read_refusal(other.path()), Contains("is of CIFAR-100"));
  }
  const fs::path archive = scratch.path() / "cifar-100-python.tar.gz";
  write_tar_gz(archive, {{"cifar-100-python/train", {1}}});
  CHECK_THAT(read_refusal(archive), Contains("is of CIFAR-100, which has 100 classes"));
}

TEST_CASE("class names may begin with a byte-order mark", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path set = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::binary);
  Bytes names = read_bytes(set / "batches.meta.txt");
  names.insert(names.begin(), {0xef, 0xbb, 0xbf});
  write_bytes(set / "batches.meta.txt", names);
  CHECK(read_cifar10(set).class_names == numbered_dataset(5, 1).class_names);
}

TEST_CASE("a set has as many classes as it names, from 2 to 256", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path set = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::binary);
  const auto name = [&](std::size_t count) {
    std::string text;
    for (std::size_t k = 0; k < count; ++k) text += "kind " + std::to_string(k) + "\n";
    write_bytes(set / "batches.meta.txt", Bytes(text.begin(), text.end()));
  };
  for (const std::size_t count : {10U, 11U, 256U}) {  // labels are below 10
    name(count);
    const Dataset read = read_cifar10(set);
    CHECK(read.class_names.size() == count);
    CHECK(read.class_names.back() == "kind " + std::to_string(count - 1));
  }
  for (const std::size_t count : {0U, 1U, 257U}) {
    name(count);
    const Dataset read = read_cifar10(set);
    CHECK(read.class_names.size() == 10);
    CHECK(read.class_names.front() == "airplane");
    CHECK_THAT(fmt::format("{}", fmt::join(read.remarks, "; ")), Contains("not from 2 to 256"));
  }
  name(3);
  CHECK_THAT(read_refusal(set), Contains("has label") && Contains("expected 0 to 2"));
}

TEST_CASE("damaged binary files are refused with record and offset", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path directory =
      make_set(scratch.path(), numbered_dataset(10, 2), Cifar10Format::binary);
  const fs::path file = directory / "data_batch_2.bin";
  const Bytes whole = read_bytes(file);
  for (std::size_t cut = 0; cut < whole.size(); cut += 211) {
    CAPTURE(cut);
    write_bytes(file, Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(cut)));
    CHECK_THAT(read_refusal(directory), Contains(file.string()));
  }
  write_bytes(file, Bytes(whole.begin(), whole.end() - 1));
  CHECK_THAT(read_refusal(directory), Contains("byte 3073: record 1 is truncated: 3072 of 3073"));
  Bytes bad = whole;
  bad[1 + kImageBytes] = 10;
  write_bytes(file, bad);
  CHECK_THAT(read_refusal(directory), Contains("byte 3073: record 1 has label 10"));
}

TEST_CASE("paths in an archive count by their last two components only", "[cifar10]") {
  const ScratchDirectory scratch;
  const Dataset made = numbered_dataset(5, 1);
  const fs::path bin = make_set(scratch.path(), made, Cifar10Format::binary);
  const fs::path archive = scratch.path() / "set.tar.gz";
  write_tar_gz(archive, members_of(bin, "../../../cifar-10-batches-bin"));
  check_same(read_cifar10(archive), made);
  write_tar_gz(archive, members_of(bin, "cifar-10-batches-bin/old"));
  CHECK_THAT(read_refusal(archive), Contains("holds no CIFAR-10 files"));
  write_tar_gz(archive, members_of(bin, "cifar-10-batches-py"));
  CHECK_THAT(read_refusal(archive), Contains("holds no CIFAR-10 files"));
}

TEST_CASE("an archive with a file twice, or as a link or a folder, is refused", "[cifar10]") {
  const ScratchDirectory scratch;
  const fs::path bin = make_set(scratch.path(), numbered_dataset(5, 1), Cifar10Format::binary);
  const fs::path archive = scratch.path() / "set.tar.gz";
  auto members = members_of(bin, "cifar-10-batches-bin");
  auto twice = members;
  twice.push_back(
      {"a/cifar-10-batches-bin/data_batch_3.bin", read_bytes(bin / "data_batch_3.bin")});
  write_tar_gz(archive, twice);
  CHECK_THAT(read_refusal(archive), Contains("data_batch_3 twice"));
  twice.back().path = "a/cifar-10-batches-bin/test_batch.bin";
  write_tar_gz(archive, twice);
  CHECK_THAT(read_refusal(archive), Contains("remove one"));
  members[0] = {"cifar-10-batches-bin/test_batch.bin", {}, true};
  write_tar_gz(archive, members);
  CHECK_THAT(read_refusal(archive), Contains("not a regular file"));
  members[0] = {"cifar-10-batches-bin/data_batch_5.bin/", {}};
  write_tar_gz(archive, members);
  CHECK_THAT(read_refusal(archive), Contains("data_batch_5.bin/' is not a regular file"));
}

TEST_CASE("truncate keeps the first images", "[cifar10]") {
  ImageSet set = numbered_images(5);
  set.truncate(9);
  CHECK(set.size() == 5);
  set.truncate(2);
  CHECK(set.labels == numbered_images(2).labels);
  CHECK(set.pixels == numbered_images(2).pixels);
}

TEST_CASE("a data set tells its form, files and classes; one that is missing is refused",
          "[data_check]") {
  Dataset made = numbered_dataset(20, 10);
  for (std::size_t i = 0; i < 20; ++i) made.train.labels[i] = i < 11 ? 0 : 3;
  for (const auto format : {Cifar10Format::binary, Cifar10Format::python}) {
    const ScratchDirectory scratch;
    write_cifar10(made, scratch.path(), format);
    const auto check = check_cifar10(scratch.path());
    CHECK(check.form == (format == Cifar10Format::binary ? "binary version" : "Python version"));
    CHECK(check.place == scratch.path().string());
    CHECK(check.files.size() == 7);
    CHECK_THAT(check.files.front(), Contains("data_batch_1"));
    CHECK(check.train_per_class[0] == 11);
    CHECK(check.train_per_class[3] == 9);
    CHECK(check.train_per_class[1] == 0);
    CHECK(check.class_names == made.class_names);
    CHECK(check.train_fingerprint == made.train.fingerprint());
    CHECK(check.test_fingerprint == made.test.fingerprint());
    REQUIRE(check.remarks.size() == 1);
    CHECK_THAT(check.remarks[0], Contains("8 of 10 classes have no training image (class 1, "));
  }
  CHECK_THAT(refusal([] { check_cifar10("/nonexistent"); }), Contains("/nonexistent"));
}

}  // namespace rueda::test
