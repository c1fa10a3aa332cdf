#include "data/repeats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <fmt/ranges.h>

#include "base/random.hpp"

namespace rueda {
namespace {

using ImageHashes = std::vector<std::uint64_t>;

/// Four independent chains, because one would wait for each multiplication.
std::uint64_t hash_of(std::span<const std::uint8_t> image) {
  constexpr std::size_t kLanes = 4;
  std::array<std::uint64_t, kLanes> lanes = {1, 2, 3, 4}, words{};
  static_assert(kImageBytes % sizeof words == 0);
  for (std::size_t at = 0; at < image.size(); at += sizeof words) {
    std::memcpy(words.data(), image.data() + at, sizeof words);
    for (std::size_t k = 0; k < kLanes; ++k)
      lanes[k] = std::rotl((lanes[k] ^ words[k]) * 0x9e3779b97f4a7c15U, 29);
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t lane : lanes) hash = mix64(hash ^ lane);
  return hash;
}

ImageHashes hashes_of(const ImageSet& set) {
  ImageHashes hashes(set.size());
  for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = hash_of(set.image(i));
  return hashes;
}

std::span<const std::uint64_t> of(const FileImages& file, const ImageHashes& hashes) {
  return std::span(hashes).subspan(file.begin, file.end - file.begin);
}

/// Each file that is like an earlier one.
std::string equal_files(std::span<const FileImages> files, const ImageHashes& hashes) {
  std::vector<std::string> pairs;
  for (std::size_t i = 1; i < files.size(); ++i) {
    for (const FileImages& earlier : files.first(i)) {
      if (!std::ranges::equal(of(earlier, hashes), of(files[i], hashes))) continue;
      pairs.push_back(files[i].name + " is " + earlier.name);
      break;
    }
  }
  if (pairs.empty()) return "";
  return fmt::format(
      "training files have the same images ({}): these count twice, and others are missing; "
      "download the set again",
      fmt::join(pairs, ", "));
}

std::string contradicting_labels(const Dataset& dataset, const ImageHashes& hashes) {
  const std::vector<std::uint8_t>& labels = dataset.train.labels;
  std::unordered_map<std::uint64_t, std::size_t> seen;
  std::size_t count = 0, one = 0, other = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const std::size_t first = seen.emplace(hashes[i], i).first->second;
    if (labels[first] == labels[i] || ++count > 1) continue;
    one = first;
    other = i;
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} training images are there before with another label, the first is image {} (label "
      "{}), which is image {} (label {}): one of the two labels is wrong; correct the labels",
      count, hashes.size(), other, labels[other], one, labels[one]);
}

/// Also takes the images of training files that are the test file out of `train`.
std::string test_file_in_training(std::span<const FileImages> files, const ImageHashes& test,
                                  const std::string& test_name, ImageHashes& train) {
  std::vector<std::string> names;
  for (const FileImages& file : files)
    if (std::ranges::equal(of(file, train), test)) names.push_back(file.name);
  if (names.empty()) return "";
  for (const FileImages& file : files) {
    if (std::ranges::count(names, file.name) == 0) continue;
    std::fill_n(train.begin() + std::ptrdiff_t(file.begin), file.end - file.begin, 0);
  }
  return fmt::format(
      "{} has the images of the test file {}: the accuracy is that of images trained on; download "
      "the set again",
      fmt::join(names, ", "), test_name);
}

std::string shared_images(const ImageHashes& train, const ImageHashes& test) {
  const std::unordered_set<std::uint64_t> trained(train.begin(), train.end());
  const auto is_trained = [&](std::uint64_t hash) { return trained.count(hash) > 0; };
  const auto shared = std::ranges::count_if(test, is_trained);
  if (shared == 0) return "";
  return fmt::format(
      "{} of {} test images are also training images, the first is test image {}: the accuracy "
      "says less about new images; make a set without them",
      shared, test.size(), std::ranges::find_if(test, is_trained) - test.begin());
}

/// The longest run of one image, if it is no accident.
std::string long_run(const char* split, const ImageHashes& hashes) {
  constexpr std::size_t kLong = 16;
  std::size_t longest = 0, begin = 0;
  for (std::size_t i = 0, end = 0; i < hashes.size(); i = end) {
    while (end < hashes.size() && hashes[end] == hashes[i]) ++end;
    if (end - i <= longest) continue;
    longest = end - i;
    begin = i;
  }
  if (longest < kLong) return "";
  return fmt::format(
      "{} images {} to {} are one and the same image, as in a file that was cut off and filled up; "
      "download or copy the set again",
      split, begin, begin + longest - 1);
}

}  // namespace

std::vector<std::string> find_repeats(const Dataset& dataset, std::span<const FileImages> train,
                                      const std::string& test_name) {
  ImageHashes trained = hashes_of(dataset.train);
  const ImageHashes tested = hashes_of(dataset.test);
  std::vector<std::string> found = {equal_files(train, trained),
                                    contradicting_labels(dataset, trained),
                                    long_run("training", trained), long_run("test", tested),
                                    test_file_in_training(train, tested, test_name, trained)};
  found.push_back(shared_images(trained, tested));
  std::erase(found, "");
  return found;
}

}  // namespace rueda
