#include "rueda/data/cifar10.hpp"

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cifar10_files.hpp"
#include "rueda/core/random.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kOfficialTrainFiles = 5;

const ClassNames kOfficialNames{"airplane", "automobile", "bird",  "cat",  "deer",
                                "dog",      "frog",       "horse", "ship", "truck"};

void append(SetFile& file, Cifar10Format format, ImageSet& set) {
  const std::vector<std::uint8_t> bytes = load(file);
  if (format == Cifar10Format::binary)
    decode_binary(bytes, file.name, set);
  else
    decode_python(bytes, file.name, set);
}

ClassNames class_names(Cifar10Files& files, std::vector<std::string>& remarks) {
  if (!files.meta) return kOfficialNames;
  const std::vector<std::uint8_t> bytes = load(*files.meta);
  auto names = files.format == Cifar10Format::binary ? binary_class_names(bytes)
                                                     : python_class_names(bytes, files.meta->name);
  if (names) {
    // They go to terminals and reports.
    for (std::string& name : *names) name = printable(name);
    return *names;
  }
  remarks.push_back(fmt::format("{} does not name {} classes; uses the official names",
                                files.meta->name, kClasses));
  return kOfficialNames;
}

void remark_sizes(const Cifar10Files& files, Dataset& dataset) {
  if (files.train.size() != kOfficialTrainFiles || dataset.train.size() != kOfficialTrainImages) {
    std::string numbers;
    for (const SetFile& file : files.train)
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", file.number);
    dataset.remarks.push_back(
        fmt::format("training set of {} images from file {} (official: {} images, files 1 to {})",
                    dataset.train.size(), numbers, kOfficialTrainImages, kOfficialTrainFiles));
  }
  if (dataset.test.size() != kOfficialTestImages)
    dataset.remarks.push_back(fmt::format("test set of {} images (official: {})",
                                          dataset.test.size(), kOfficialTestImages));
}

std::array<std::size_t, kClasses> count_classes(const ImageSet& set) {
  std::array<std::size_t, kClasses> counts{};
  for (const std::uint8_t label : set.labels) ++counts.at(label);
  return counts;
}

std::vector<std::string> names_of(const Cifar10Files& files) {
  std::vector<std::string> names;
  for (const SetFile& file : files.train) names.push_back(file.name);
  names.push_back(files.test->name);
  if (files.meta) names.push_back(files.meta->name);
  return names;
}

}  // namespace

void ImageSet::truncate(std::size_t n) {
  if (n >= size()) return;
  labels.resize(n);
  pixels.resize(n * kImageBytes);
}

std::uint64_t ImageSet::fingerprint() const {
  static_assert(kImageBytes % sizeof(std::uint64_t) == 0);
  std::uint64_t hash = mix64(size());
  for (std::size_t at = 0; at < pixels.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, pixels.data() + at, sizeof word);
    hash = mix64(hash ^ word);
  }
  for (const std::uint8_t label : labels) hash = mix64(hash ^ label);
  return hash;
}

Dataset read_cifar10(const std::filesystem::path& where) {
  Cifar10Files files = find_cifar10(where);
  Dataset dataset = read_files(files);
  dataset.source = where.string();
  return dataset;
}

Dataset read_files(Cifar10Files& files) {
  Dataset dataset;
  dataset.source = files.place;
  dataset.remarks = files.remarks;
  for (SetFile& file : files.train) append(file, files.format, dataset.train);
  append(*files.test, files.format, dataset.test);
  dataset.class_names = class_names(files, dataset.remarks);
  remark_sizes(files, dataset);
  return dataset;
}

void decode_binary(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set) {
  constexpr std::size_t kRecordBytes = 1 + kImageBytes;
  const std::size_t records = bytes.size() / kRecordBytes;
  const std::size_t rest = bytes.size() % kRecordBytes;
  if (bytes.empty()) fail_at(name, 0, "the file is empty");
  if (rest != 0)
    fail_at(name, bytes.size() - rest,
            fmt::format("record {} is truncated: {} of {} bytes", records, rest, kRecordBytes));
  for (std::size_t i = 0; i < records; ++i) {
    const auto record = bytes.subspan(i * kRecordBytes, kRecordBytes);
    if (record[0] >= kClasses)
      fail_at(name, i * kRecordBytes,
              fmt::format("record {} has label {}, expected 0 to {}", i, record[0], kClasses - 1));
    set.labels.push_back(record[0]);
    set.pixels.insert(set.pixels.end(), record.begin() + 1, record.end());
  }
}

std::optional<ClassNames> binary_class_names(std::span<const std::uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ClassNames names;
  std::size_t count = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (count == names.size()) return std::nullopt;
    names[count++] = line;
  }
  return count == names.size() ? std::optional(names) : std::nullopt;
}

DataCheck check_cifar10(const std::filesystem::path& where) {
  Cifar10Files files = find_cifar10(where);
  Dataset dataset = read_files(files);
  const bool binary = files.format == Cifar10Format::binary;
  return {.form = binary ? "binary version" : "Python version",
          .place = files.place,
          .files = names_of(files),
          .class_names = dataset.class_names,
          .train_per_class = count_classes(dataset.train),
          .test_per_class = count_classes(dataset.test),
          .train_fingerprint = dataset.train.fingerprint(),
          .test_fingerprint = dataset.test.fingerprint(),
          .remarks = std::move(dataset.remarks)};
}

}  // namespace rueda
