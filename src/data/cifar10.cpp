#include "rueda/data/cifar10.hpp"

#include <utility>

#include <fmt/format.h>

#include "cifar10_decode.hpp"
#include "cifar10_files.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kOfficialTrainFiles = 5;

const ClassNames& official_class_names() {
  static const ClassNames names{"airplane", "automobile", "bird",  "cat",  "deer",
                                "dog",      "frog",       "horse", "ship", "truck"};
  return names;
}

void append(SetFile& file, Cifar10Format format, ImageSet& set) {
  const std::vector<std::uint8_t> bytes = load(file);
  if (format == Cifar10Format::binary)
    decode_binary(bytes, file.name, set);
  else
    decode_python(bytes, file.name, set);
}

/// A class name goes to terminals and reports.
ClassNames cleaned(ClassNames names) {
  for (std::string& name : names) name = printable(name);
  return names;
}

ClassNames class_names(Cifar10Files& files, std::vector<std::string>& remarks) {
  if (!files.meta) return official_class_names();
  const std::vector<std::uint8_t> bytes = load(*files.meta);
  auto names = files.format == Cifar10Format::binary ? binary_class_names(bytes)
                                                     : python_class_names(bytes, files.meta->name);
  if (names) return cleaned(*std::move(names));
  remarks.push_back(fmt::format("{} does not name {} classes; uses the official names",
                                files.meta->name, kClasses));
  return official_class_names();
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

}  // namespace

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

}  // namespace rueda
