#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/split.hpp"
#include "data/cifar10_files.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTrainFiles = 5;
constexpr std::size_t kFileImages = 60'000;  ///< less than kMaxFileBytes also in the Python version

std::size_t train_files(std::size_t images) {
  const std::size_t needed = (images + kFileImages - 1) / kFileImages;
  return std::max(needed, std::min(images, kTrainFiles));
}

void write_file(const fs::path& path, const std::string& bytes) try {
  write_output(path, bytes);
} catch (const RunError& error) {
  throw InputError(std::string(error.what()) + "; choose another directory or free it");
}

std::string_view pixels_of(const ImageSet& set, Range images) {
  const auto* first = reinterpret_cast<const char*>(set.pixels.data());
  return {first + images.begin * kImageBytes, images.size() * kImageBytes};
}

std::string binary_batch(const ImageSet& set, Range images) {
  std::string bytes;
  for (std::size_t i = images.begin; i < images.end; ++i) {
    bytes += char(set.labels[i]);
    bytes += pixels_of(set, {i, i + 1});
  }
  return bytes;
}

// A pickle of protocol 2, made of the same opcodes as the official files, which
// every Python and NumPy reads. The opcodes' letters are those of CPython's
// Lib/pickletools.py.

std::string pickled_integer(std::uint64_t value) {
  char opcode = 'J';
  int width = 4;
  if (value < 0x100) {
    opcode = 'K';
    width = 1;
  } else if (value < 0x10000) {
    opcode = 'M';
    width = 2;
  }
  std::string bytes(1, opcode);
  for (int i = 0; i < width; ++i) bytes += char(value >> (8 * i));
  return bytes;
}

/// Python 2's `str`.
std::string pickled_string(std::string_view text) {
  char opcode = 'T';
  int width = 4;
  if (text.size() < 0x100) {
    opcode = 'U';
    width = 1;
  }
  std::string bytes(1, opcode);
  for (int i = 0; i < width; ++i) bytes += char(text.size() >> (8 * i));
  return bytes.append(text);
}

/// A uint8 array of shape (rows, kImageBytes) in C order.
std::string pickled_array(std::size_t rows, std::string_view pixels) {
  using namespace std::string_literals;
  const std::string shape = pickled_integer(rows) + pickled_integer(kImageBytes) + "\x86";
  return "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R(K\1"s + shape +
         "cnumpy\ndtype\nU\2u1K\0K\1\x87R(K\3U\1|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89"s +
         pickled_string(pixels) + "tb";
}

std::string python_batch(const Dataset& dataset, const ImageSet& set, Range images,
                         const std::string& batch_label) {
  std::string labels;
  std::string names;
  for (std::size_t i = images.begin; i < images.end; ++i) {
    labels += pickled_integer(set.labels[i]);
    names += pickled_string(fmt::format("{}_s_{:06}.png", dataset.class_names[set.labels[i]], i));
  }
  return "\x80\2}(" + pickled_string("batch_label") + pickled_string(batch_label) +
         pickled_string("labels") + "](" + labels + "e" + pickled_string("data") +
         pickled_array(images.size(), pixels_of(set, images)) + pickled_string("filenames") + "](" +
         names + "eu.";
}

std::string python_meta(const Dataset& dataset, std::size_t images_per_batch) {
  std::string names;
  for (const std::string& name : dataset.class_names) names += pickled_string(name);
  return "\x80\2}(" + pickled_string("num_cases_per_batch") + pickled_integer(images_per_batch) +
         pickled_string("label_names") + "](" + names + "e" + pickled_string("num_vis") +
         pickled_integer(kImageBytes) + "u.";
}

}  // namespace

void write_cifar10(const Dataset& dataset, const fs::path& directory, Cifar10Format format) {
  const std::size_t images = dataset.train.size();
  require(images > 0 && dataset.test.size() > 0,
          fmt::format("{} training and {} test images are no set: make at least one of each",
                      images, dataset.test.size()));
  std::error_code error;
  fs::create_directories(directory, error);
  require(!error, fmt::format("cannot write {}: {}; choose another directory", directory.string(),
                              error.message()));
  const bool binary = format == Cifar10Format::binary;
  const auto write_batch = [&](const std::string& name, const ImageSet& set, Range range,
                               const std::string& label) {
    const fs::path path = directory / (name + suffix_of(format));
    if (binary)
      write_file(path, binary_batch(set, range));
    else
      write_file(path, python_batch(dataset, set, range, label));
  };
  const std::size_t files = train_files(images);
  for (std::size_t file = 0; file < files; ++file)
    write_batch(fmt::format("data_batch_{}", file + 1), dataset.train,
                even_split(images, files, file),
                fmt::format("training batch {} of {}", file + 1, files));
  write_batch("test_batch", dataset.test, {0, dataset.test.size()}, "testing batch 1 of 1");
  if (binary)
    write_file(directory / "batches.meta.txt",
               fmt::format("{}\n", fmt::join(dataset.class_names, "\n")));
  else
    write_file(directory / "batches.meta",
               python_meta(dataset, even_split(images, files, 0).size()));
}

}  // namespace rueda
