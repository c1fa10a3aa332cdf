#include "rueda/data/data_check.hpp"

#include "cifar10_files.hpp"

namespace rueda {
namespace {

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

DataCheck check_cifar10(const std::filesystem::path& where) {
  Cifar10Files files = find_cifar10(where);
  DataCheck check;
  check.form = files.format == Cifar10Format::binary ? "binary version" : "Python version";
  check.place = files.place;
  check.files = names_of(files);
  const Dataset dataset = read_files(files);
  check.class_names = dataset.class_names;
  check.train_per_class = count_classes(dataset.train);
  check.test_per_class = count_classes(dataset.test);
  check.train_fingerprint = dataset.train.fingerprint();
  check.test_fingerprint = dataset.test.fingerprint();
  check.remarks = dataset.remarks;
  return check;
}

}  // namespace rueda
