#include "commands/synth.hpp"

#include <algorithm>
#include <ostream>
#include <regex>
#include <system_error>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

// What readers take: a set of 2 GB, whose test images are one file of 200 MB.
constexpr std::size_t kMostImages = 600'000;
constexpr std::size_t kMostTest = 60'000;

bool belongs_to_data_set(const fs::path& file) {
  static const std::regex names(R"((data_batch_\d+|test_batch)(\.bin)?|batches\.meta(\.txt)?)");
  return std::regex_match(file.filename().string(), names);
}

/// The files in `directory` that a data set consists of; none if it does not exist.
std::vector<fs::path> data_set_files(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) return {};
  require(fs::is_directory(directory, error),
          "--out " + directory.string() + " is not a directory: give another path");
  std::vector<fs::path> files = entries_of(directory, error);
  require(!error, "--out " + directory.string() + " can not be read: " + error.message());
  std::erase_if(files, [](const fs::path& file) { return !belongs_to_data_set(file); });
  return files;
}

bool in_format(const std::vector<fs::path>& files, Cifar10Format format) {
  const bool binary = format == Cifar10Format::binary;
  for (const fs::path& file : files) {
    if (file.filename().string().starts_with("batches.meta")) continue;
    if ((file.extension() == ".bin") != binary) return false;
  }
  return true;
}

/// Whether `directory` reads as `drawn`; damaged files do not.
bool holds(const fs::path& directory, const Dataset& drawn) {
  try {
    const Dataset found = read_cifar10(directory);
    return found.train == drawn.train && found.test == drawn.test &&
           found.class_names == drawn.class_names;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

void validate(const SynthRequest& request) {
  const SynthOptions& drawing = request.drawing;
  const auto [fewest, most] = std::minmax(drawing.train, drawing.test);
  require(fewest >= 1 && most <= kMostImages && drawing.train + drawing.test <= kMostImages,
          fmt::format("--train and --test must be from 1 to {} together", kMostImages));
  require(drawing.test <= kMostTest, fmt::format("--test must be from 1 to {}", kMostTest));
  require(drawing.classes >= 2 && drawing.classes <= kMostDrawnClasses,
          fmt::format("--classes must be from 2 to {}", kMostDrawnClasses));
}

void run_command(const SynthRequest& request, std::ostream& out) {
  const fs::path directory(request.out);
  const std::vector<fs::path> present = data_set_files(directory);
  const SynthOptions& drawing = request.drawing;
  std::string described =
      fmt::format("{} training and {} test images (seed {}, CIFAR-10 {} version", drawing.train,
                  drawing.test, drawing.seed, version_name(request.format));
  if (drawing.classes != kClasses) described += fmt::format(", {} classes", drawing.classes);
  described += ')';
  const Dataset drawn = draw_synthetic(drawing);
  if (!present.empty() && in_format(present, request.format) && holds(directory, drawn)) {
    out << one_line(directory.string()) << " already holds these " << described << '\n';
    return;
  }
  require(present.empty() || request.overwrite,
          "--out " + directory.string() +
              " holds another data set: give another path, or --overwrite to replace it");
  std::vector<std::string> removed;
  for (const fs::path& file : present) {
    std::error_code error;
    fs::remove(file, error);
    require(!error, file.string() + " can not be replaced: " + error.message());
    removed.push_back(file.filename().string());
  }
  if (!removed.empty())
    log(LogLevel::info, fmt::format("--overwrite removed from {}: {}", directory.string(),
                                    fmt::join(removed, ", ")));
  write_cifar10(drawn, directory, request.format);
  out << "wrote " << described << " to " << one_line(directory.string()) << '\n';
}

}  // namespace rueda
