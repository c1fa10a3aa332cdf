#include "data/synth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.hpp"
#include "data/cifar10.hpp"
#include "data/synth_shapes.hpp"
#include "rueda/data/dataset.hpp"
#include "tests/support/data_files.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

std::uint64_t hash_of(const ImageSet& set) {
  std::uint64_t hash = 0;
  for (const auto byte : set.pixels) hash = mix64(hash ^ byte);
  for (const auto byte : set.labels) hash = mix64(hash ^ byte);
  return hash;
}

std::array<int, kClasses> counts(const ImageSet& set) {
  std::array<int, kClasses> counts{};
  for (const auto label : set.labels) ++counts.at(label);
  return counts;
}

double mean(std::span<const std::uint8_t> image) {
  double sum = 0;
  for (const auto byte : image) sum += byte;
  return sum / double(image.size());
}

int covered(std::size_t label, const Placement& place) {
  int sum = 0;
  for (const auto sixteenths : draw_mask(label, place)) sum += sixteenths;
  return sum;
}

}  // namespace

TEST_CASE("the same seed gives the same bytes, on every machine", "[synth]") {
  const Dataset one = draw_synthetic({.train = 40, .test = 10, .seed = 1});
  const Dataset again = draw_synthetic({.train = 40, .test = 10, .seed = 1});
  CHECK(one.train.pixels == again.train.pixels);
  CHECK(one.test.labels == again.test.labels);
  CHECK(draw_synthetic({.train = 40, .test = 10, .seed = 2}).train.pixels != one.train.pixels);
  CHECK(one.train.image(0).front() != one.test.image(0).front());
  // Pins the bytes: runs on other machines and with other compilers must find the same.
  CHECK(hash_of(one.train) == 0xf4fd9bff7de32fd4);
  CHECK(hash_of(one.test) == 0xeea5555b853e2522);
}

TEST_CASE("classes are balanced and shuffled", "[synth]") {
  const Dataset made = draw_synthetic({.train = 200, .test = 25, .seed = 5});
  for (const int count : counts(made.train)) CHECK(count == 20);
  for (const int count : counts(made.test)) CHECK((count == 2 || count == 3));
  bool in_order = true;
  for (std::size_t i = 0; i < 200; ++i) in_order = in_order && made.train.labels[i] == i % 10;
  CHECK_FALSE(in_order);
  CHECK(std::set(made.class_names.begin(), made.class_names.end()).size() == kClasses);
}

TEST_CASE("any number of classes from 2 to 100 is drawn", "[synth]") {
  for (const std::size_t classes : {2U, 37U, 100U}) {
    const Dataset made = draw_synthetic({.train = 3 * classes, .test = 1, .classes = classes});
    CHECK(std::set(made.class_names.begin(), made.class_names.end()).size() == classes);
    std::vector<int> images(classes);
    for (const auto label : made.train.labels) ++images.at(label);
    CHECK(std::ranges::all_of(images, [](int count) { return count == 3; }));
  }
  CHECK(draw_synthetic({.train = 1, .test = 1, .classes = 100}).class_names[57] ==
        "stripes over star");
}

TEST_CASE("mean brightness does not tell the class", "[synth]") {
  const Dataset made = draw_synthetic({.train = 2000, .test = 1, .seed = 3});
  std::array<double, kClasses> sums{};
  for (std::size_t i = 0; i < made.train.size(); ++i)
    sums.at(made.train.labels[i]) += mean(made.train.image(i)) / 200;
  const auto [low, high] = std::ranges::minmax(sums);
  // Single images differ by about 60; means of 200 of them by chance alone by about 4.
  CHECK(high - low < 20);
}

TEST_CASE("every motif covers its share of the circle around it", "[synth]") {
  // Areas by elementary geometry, in percent of the circle, and how far 4 x 4 samples a pixel and,
  // for the textures, the cut of the pattern by the window may be off.
  struct Share {
    double percent;
    double margin;
  };
  constexpr std::array<Share, kClasses> kShares{{{90.3, 2},
                                                 {64.0, 2},
                                                 {77.5, 2},
                                                 {41.3, 2},
                                                 {59.5, 2},
                                                 {48.5, 2},
                                                 {45.9, 2},
                                                 {50.0, 15},
                                                 {50.0, 10},
                                                 {32.7, 12}}};
  for (std::size_t label = 0; label < kShares.size(); ++label) {
    for (const int angle : {0, 5000, 16384, 40000}) {
      CAPTURE(label, angle);
      const double sixteenths = covered(label, {4096, 4096, 12 * 256, angle, true});
      const double circle = 16 * 12 * 12 * 3.14159265;
      CHECK(100 * sixteenths / circle ==
            Approx(kShares[label].percent).margin(kShares[label].margin));
    }
  }
}

TEST_CASE("files are complete, deterministic and leave nothing else", "[synth]") {
  const ScratchDirectory scratch;
  const Dataset made = numbered_dataset(12, 3);
  for (int round = 0; round < 2; ++round) {
    write_cifar10(made, scratch.path() / "py", Cifar10Format::python);
    write_cifar10(made, scratch.path() / "bin", Cifar10Format::binary);
  }
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path()))
    if (entry.is_regular_file()) names.insert(entry.path().filename().string());
  CHECK(names == std::set<std::string>{"batches.meta", "batches.meta.txt", "data_batch_1",
                                       "data_batch_1.bin", "data_batch_2", "data_batch_2.bin",
                                       "data_batch_3", "data_batch_3.bin", "data_batch_4",
                                       "data_batch_4.bin", "data_batch_5", "data_batch_5.bin",
                                       "test_batch", "test_batch.bin"});
  CHECK(std::filesystem::file_size(scratch.path() / "bin" / "data_batch_2.bin") == 3 * 3073);
  CHECK(std::filesystem::file_size(scratch.path() / "bin" / "data_batch_3.bin") == 2 * 3073);
}

TEST_CASE("fewer images than files are written to fewer files", "[synth]") {
  for (const std::size_t images : {1U, 3U}) {
    const ScratchDirectory scratch;
    const Dataset made = numbered_dataset(images, 1);
    write_cifar10(made, scratch.path(), Cifar10Format::binary);
    CHECK(std::filesystem::exists(scratch.path() / fmt::format("data_batch_{}.bin", images)));
    CHECK_FALSE(
        std::filesystem::exists(scratch.path() / fmt::format("data_batch_{}.bin", images + 1)));
    CHECK(read_cifar10(scratch.path()).train == made.train);
  }
}

TEST_CASE("what can not be written is refused", "[synth]") {
  const ScratchDirectory scratch;
  const auto refused = [&](const std::filesystem::path& where, const Dataset& made) {
    return refusal([&] { write_cifar10(made, where, Cifar10Format::python); });
  };
  write_bytes(scratch.path() / "file", {1});
  CHECK_THAT(refused(scratch.path() / "file", numbered_dataset(5, 1)), Contains("cannot write"));
  std::filesystem::create_directories(scratch.path() / "dir" / "data_batch_1" / "in the way");
  CHECK_THAT(refused(scratch.path() / "dir", numbered_dataset(5, 1)), Contains("data_batch_1"));
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "dir" / "data_batch_1.part"));
  CHECK_THAT(refused(scratch.path() / "new", numbered_dataset(4, 0)), Contains("at least one"));
}

}  // namespace rueda::test
