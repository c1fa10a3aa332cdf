#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cifar10_pickle.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/split.hpp"
#include "rueda/data/synth.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTrainFiles = 5;

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw InputError(fmt::format("cannot write {}: {}; choose another directory or free it",
                               path.string(), reason));
}

/// Writes under a temporary name first, so that a file with its real name is always whole.
void write_file(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  fs::path temporary = path;
  temporary += ".part";
  std::ofstream stream(temporary, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  stream.close();
  std::error_code error;
  if (stream) fs::rename(temporary, path, error);
  if (stream && !error) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  fail(path, error ? error.message() : "the directory does not take it (permission or space)");
}

std::vector<std::uint8_t> binary_records(const ImageSet& set, Range images) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(images.size() * (1 + kImageBytes));
  for (std::size_t i = images.begin; i < images.end; ++i) {
    const auto pixels = set.image(i);
    bytes.push_back(set.labels[i]);
    bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  }
  return bytes;
}

std::vector<std::uint8_t> binary_meta(const Dataset& dataset) {
  std::vector<std::uint8_t> bytes;
  for (const std::string& name : dataset.class_names) {
    bytes.insert(bytes.end(), name.begin(), name.end());
    bytes.push_back('\n');
  }
  return bytes;
}

void write_binary(const Dataset& dataset, const fs::path& directory) {
  for (std::size_t file = 0; file < kTrainFiles; ++file)
    write_file(directory / fmt::format("data_batch_{}.bin", file + 1),
               binary_records(dataset.train, even_split(dataset.train.size(), kTrainFiles, file)));
  write_file(directory / "test_batch.bin", binary_records(dataset.test, {0, dataset.test.size()}));
  write_file(directory / "batches.meta.txt", binary_meta(dataset));
}

void write_python(const Dataset& dataset, const fs::path& directory) {
  for (std::size_t file = 0; file < kTrainFiles; ++file) {
    const Range images = even_split(dataset.train.size(), kTrainFiles, file);
    write_file(directory / fmt::format("data_batch_{}", file + 1),
               pickle_batch(dataset, dataset.train, images,
                            fmt::format("training batch {} of {}", file + 1, kTrainFiles)));
  }
  write_file(directory / "test_batch",
             pickle_batch(dataset, dataset.test, {0, dataset.test.size()}, "testing batch 1 of 1"));
  write_file(directory / "batches.meta",
             pickle_meta(dataset, even_split(dataset.train.size(), kTrainFiles, 0).size()));
}

}  // namespace

void write_cifar10(const Dataset& dataset, const fs::path& directory, Cifar10Format format) {
  if (dataset.train.size() < kTrainFiles || dataset.test.size() == 0)
    throw InputError(
        fmt::format("{} training and {} test images do not fill the {} training files and the "
                    "test file of a CIFAR-10 set: make at least {} and 1",
                    dataset.train.size(), dataset.test.size(), kTrainFiles, kTrainFiles));
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail(directory, error.message());
  if (format == Cifar10Format::binary)
    write_binary(dataset, directory);
  else
    write_python(dataset, directory);
}

}  // namespace rueda
