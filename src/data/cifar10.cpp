#include <cstring>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "data/cifar10_files.hpp"
#include "data/pickle.hpp"
#include "data/repeats.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kOfficialTrainFiles = 5;
/// A label is a byte.
constexpr std::size_t kFewestClasses = 2, kMostClasses = 256;

const ClassNames kOfficialNames{"airplane", "automobile", "bird",  "cat",  "deer",
                                "dog",      "frog",       "horse", "ship", "truck"};

/// Refuses a file of a known other kind. Its decoder would call it damaged, or take the lines of
/// a page for names.
void require_kind(const SetFile& file, std::span<const std::uint8_t> bytes, Wanted wanted) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto other = other_kind(text.substr(0, kHeadBytes), wanted, file.name))
    throw InputError(file.name + ": it is " + other->name + "; " + other->remedy);
}

ClassNames names_in(const SetFile& file, Cifar10Format format,
                    std::span<const std::uint8_t> bytes) {
  if (format == Cifar10Format::binary) {
    require_kind(file, bytes, Wanted::text);
    return binary_class_names(bytes);
  }
  require_kind(file, bytes, Wanted::python_batch);
  return python_class_names(bytes, file.name);
}

/// Appends the images of a file. Its kind is looked at once it is refused: an image may begin with
/// the bytes of another kind.
void read_images(SetFile& file, Cifar10Format format, std::size_t classes, ImageSet& set) {
  const std::vector<std::uint8_t> bytes = load(file);
  const bool binary = format == Cifar10Format::binary;
  try {
    if (binary)
      decode_binary(bytes, file.name, set, classes);
    else
      decode_python(bytes, file.name, set, classes);
  } catch (const InputError&) {
    require_kind(file, bytes, binary ? Wanted::binary_batch : Wanted::python_batch);
    throw;
  }
}

ClassNames class_names(Cifar10Files& files, std::vector<std::string>& remarks) {
  if (!files.meta) return kOfficialNames;
  auto names = names_in(*files.meta, files.format, load(*files.meta));
  if (names.size() < kFewestClasses || names.size() > kMostClasses) {
    remarks.push_back(fmt::format("{} names {}, not from {} to {}; uses the official names",
                                  files.meta->name, counted(names.size(), "class"), kFewestClasses,
                                  kMostClasses));
    return kOfficialNames;
  }
  if (names.size() != kClasses)
    remarks.push_back(fmt::format("{} names {} classes", files.meta->name, names.size()));
  // They go to terminals and reports.
  for (std::string& name : names) name = printable(name);
  return names;
}

/// No number below that of the last training file is left out. Empty: none is.
std::string missing_files(const Cifar10Files& files) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> missing;
  int number = 0;
  for (const SetFile& file : files.train) {
    while (++number < file.number && missing.size() <= kMostNamed)
      missing.push_back(fmt::format("data_batch_{}{}", number, suffix_of(files.format)));
    number = file.number;
  }
  if (missing.empty()) return "";
  const std::size_t count = std::size_t(number) - files.train.size();
  return fmt::format("{} up to number {} {} not there ({}): copy or download the set again",
                     counted(count, "training file"), number, count == 1 ? "is" : "are",
                     first_few(missing, kMostNamed));
}

/// What calls its classes otherwise is another set, which may have any size.
void remark_sizes(const Cifar10Files& files, Dataset& dataset) {
  const auto numbers = files.train | std::views::transform(&SetFile::number);
  const std::string found =
      fmt::format("training set of {} from file {}", counted(dataset.train.size(), "image"),
                  fmt::join(numbers, ", "));
  if (dataset.class_names != kOfficialNames) return;
  if (files.train.size() != kOfficialTrainFiles || dataset.train.size() != kOfficialTrainImages)
    dataset.remarks.push_back(fmt::format("{} (official: {}, files 1 to {})", found,
                                          counted(kOfficialTrainImages, "image"),
                                          kOfficialTrainFiles));
  if (dataset.test.size() != kOfficialTestImages)
    dataset.remarks.push_back(fmt::format("test set of {} (official: {})",
                                          counted(dataset.test.size(), "image"),
                                          count_text(kOfficialTestImages)));
}

std::vector<std::size_t> count_classes(const ImageSet& set, std::size_t classes) {
  std::vector<std::size_t> counts(classes);
  for (const std::uint8_t label : set.labels) ++counts.at(label);
  return counts;
}

const PickleValue& entry(const Pickle& pickle, std::string_view key) {
  const PickleValue& root = *pickle.root;
  if (root.kind != Kind::dict)
    pickle.fail(root.offset, fmt::format("expected a dictionary, found {}", name_of(root.kind)));
  const PickleValue* value = root.find(key);
  require(value != nullptr || root.find("fine_labels") == nullptr, pickle.name() + kOfCifar100);
  if (value == nullptr) pickle.fail(root.offset, fmt::format("the dictionary has no '{}'", key));
  return *value;
}

/// Number of images in `data` after checking type and shape.
std::size_t image_count(const Pickle& pickle, const PickleValue& data) {
  const auto require = [&](bool holds, const std::string& otherwise) {
    if (!holds) pickle.fail(data.offset, "'data' " + otherwise);
  };
  require(data.kind == Kind::array && !data.items.empty(),
          fmt::format("is {}, expected a NumPy array", name_of(data.kind)));
  const std::string_view type = data.items[0]->bytes;
  require(type == "u1",
          fmt::format("has element type '{}', expected 'u1' (uint8)", printable(type)));
  std::vector<std::int64_t> shape;
  for (const PickleValue* item : data.items[1]->items) shape.push_back(item->integer);
  const bool deep = shape == std::vector<std::int64_t>{shape[0], 3, 32, 32};
  require(deep || shape == std::vector<std::int64_t>{shape[0], 3072},
          fmt::format("has shape {}, expected (N, 3072) or (N, 3, 32, 32)",
                      shape_text(*data.items[1])));
  require(!deep || !data.is_fortran, "is in Fortran order, expected C order");
  require(!data.bytes.empty(), "holds no image");
  return data.bytes.size() / kImageBytes;
}

/// Labels as a list of integers, or as one NumPy array of them.
std::size_t label_count(const Pickle& pickle, const PickleValue& labels) {
  if (labels.kind == Kind::list) return labels.items.size();
  const bool vector =
      labels.kind == Kind::array && labels.items.size() == 2 && labels.items[1]->items.size() == 1;
  if (!vector)
    pickle.fail(labels.offset,
                fmt::format("'labels' is {}, expected a list of integers", name_of(labels.kind)));
  return std::size_t(labels.items[1]->items[0]->integer);
}

std::uint8_t label_at(const Pickle& pickle, const PickleValue& labels, std::size_t i,
                      std::size_t classes) {
  std::int64_t label = 0;
  std::size_t offset = labels.offset;
  if (labels.kind == Kind::list) {
    const PickleValue& value = *labels.items[i];
    offset = value.offset;
    label = value.integer;
    if (value.kind != Kind::integer)
      pickle.fail(offset, fmt::format("label of image {} is {}", i, name_of(value.kind)));
  } else {
    label = integer_element(pickle, *labels.items[0], labels.bytes, i, offset);
  }
  if (label < 0 || std::size_t(label) >= classes)
    pickle.fail(offset,
                fmt::format("image {} has label {}, expected 0 to {}", i, label, classes - 1));
  return std::uint8_t(label);
}

void append_pixels(std::string_view raw, bool fortran, std::size_t images, ImageSet& set) {
  if (!fortran) {
    set.pixels.insert(set.pixels.end(), raw.begin(), raw.end());
    return;
  }
  // NumPy pickles a transposed array as it lies: byte p of all images, then byte p+1.
  for (std::size_t i = 0; i < images; ++i)
    for (std::size_t p = 0; p < kImageBytes; ++p)
      set.pixels.push_back(std::uint8_t(raw[p * images + i]));
}

/// Two records at least, each a label from 0 to 19, one from 0 to 99, and pixels.
bool has_cifar100_records(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kRecordBytes = 2 + kImageBytes;
  if (bytes.size() < 2 * kRecordBytes || bytes.size() % kRecordBytes != 0) return false;
  for (std::size_t at = 0; at < bytes.size(); at += kRecordBytes)
    if (bytes[at] >= 20 || bytes[at + 1] >= 100) return false;
  return true;
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
  dataset.class_names = class_names(files, dataset.remarks);
  const std::size_t classes = dataset.class_names.size();
  std::vector<FileImages> images;
  for (SetFile& file : files.train) {
    const std::size_t begin = dataset.train.size();
    read_images(file, files.format, classes, dataset.train);
    images.push_back({file.name, begin, dataset.train.size()});
  }
  read_images(*files.test, files.format, classes, dataset.test);
  dataset.warnings = find_repeats(dataset, images, files.test->name);
  dataset.warnings.push_back(missing_files(files));
  dataset.warnings.push_back(label_fault(dataset.train, dataset.class_names));
  std::erase(dataset.warnings, "");
  remark_sizes(files, dataset);
  return dataset;
}

void decode_binary(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set,
                   std::size_t classes) {
  constexpr std::size_t kRecordBytes = 1 + kImageBytes;
  const std::size_t records = bytes.size() / kRecordBytes;
  const std::size_t rest = bytes.size() % kRecordBytes;
  if (bytes.empty()) fail_at(name, 0, "the file is empty");
  require(!has_cifar100_records(bytes), name + kOfCifar100);
  if (rest != 0)
    fail_at(name, bytes.size() - rest,
            fmt::format("record {} is truncated: {} of {} bytes", records, rest, kRecordBytes));
  for (std::size_t i = 0; i < records; ++i) {
    const auto record = bytes.subspan(i * kRecordBytes, kRecordBytes);
    if (record[0] >= classes)
      fail_at(name, i * kRecordBytes,
              fmt::format("record {} has label {}, expected 0 to {}", i, record[0], classes - 1));
    set.labels.push_back(record[0]);
    set.pixels.insert(set.pixels.end(), record.begin() + 1, record.end());
  }
}

ClassNames binary_class_names(std::span<const std::uint8_t> bytes) {
  ClassNames names;
  const std::string text = decode_text({bytes.begin(), bytes.end()});
  for (std::string_view line : split_words<std::string_view>(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) names.emplace_back(line);
  }
  return names;
}

DataCheck check_cifar10(const std::filesystem::path& where) {
  Cifar10Files files = find_cifar10(where);
  Dataset dataset = read_files(files);
  std::vector<std::string> remarks = std::move(dataset.warnings);
  remarks.insert(remarks.end(), dataset.remarks.begin(), dataset.remarks.end());
  std::vector<std::string> names;
  for (const SetFile& file : files.train) names.push_back(file.name);
  names.push_back(files.test->name);
  if (files.meta) names.push_back(files.meta->name);
  return {.form = version_name(files.format) + std::string(" version"),
          .place = files.place,
          .files = std::move(names),
          .class_names = dataset.class_names,
          .train_per_class = count_classes(dataset.train, dataset.class_names.size()),
          .test_per_class = count_classes(dataset.test, dataset.class_names.size()),
          .train_fingerprint = dataset.train.fingerprint(),
          .test_fingerprint = dataset.test.fingerprint(),
          .remarks = std::move(remarks)};
}

void decode_python(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set,
                   std::size_t classes) {
  const Pickle pickle = read_pickle(bytes, name);
  const PickleValue& data = entry(pickle, "data");
  const PickleValue& labels = entry(pickle, "labels");
  const std::size_t images = image_count(pickle, data);
  if (const std::size_t count = label_count(pickle, labels); count != images)
    pickle.fail(labels.offset, fmt::format("{} labels for {} images", count, images));
  for (std::size_t i = 0; i < images; ++i)
    set.labels.push_back(label_at(pickle, labels, i, classes));
  append_pixels(data.bytes, data.is_fortran, images, set);
}

ClassNames python_class_names(std::span<const std::uint8_t> bytes, const std::string& name) {
  const Pickle pickle = read_pickle(bytes, name);
  const PickleValue* list = pickle.root->find("label_names");
  ClassNames names;
  if (list == nullptr || list->kind != Kind::list) return {};
  for (const auto& item : list->items) {
    if (item->kind != Kind::bytes && item->kind != Kind::text) return {};
    names.emplace_back(item->bytes);
  }
  return names;
}

}  // namespace rueda
