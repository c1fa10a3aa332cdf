#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "checkpoint_files.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

// Parts of the names in a directory of checkpoints.
constexpr std::string_view kEpochWord = "epoch-";
constexpr std::string_view kStepWord = "-step-";

using Position = std::pair<std::size_t, std::size_t>;  ///< epochs, steps

std::optional<Position> position_of(const fs::path& checkpoint) {
  const std::string file = checkpoint.filename().string();
  std::string_view name = file;
  const auto epochs = take_number(name, kEpochWord);
  const auto steps = epochs ? take_number(name, kStepWord) : std::nullopt;
  if (!steps || !name.empty()) return std::nullopt;
  return Position{*epochs, *steps};
}

std::vector<fs::path> entries_of(const fs::path& directory, std::error_code& error) {
  std::vector<fs::path> found;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  return found;
}

}  // namespace

std::optional<std::size_t> take_number(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + word.size(), end, number);
  if (error != std::errc{}) return std::nullopt;
  text = {rest, std::size_t(end - rest)};
  return number;
}

std::string checkpoint_name(const TrainPosition& position) {
  return fmt::format("{}{:04}{}{:05}", kEpochWord, position.epochs, kStepWord, position.steps);
}

bool is_later(const fs::path& checkpoint, const TrainPosition& position) {
  const auto found_at = position_of(checkpoint);
  return found_at && *found_at > Position{position.epochs, position.steps};
}

void discard_checkpoint(const fs::path& checkpoint) {
  // Not the name under which its successor is being written.
  const std::string name = std::string(kTemporaryWord) + "old-" + checkpoint.filename().string();
  const fs::path hidden = checkpoint.parent_path() / name;
  std::error_code error;
  fs::remove_all(hidden, error);
  fs::rename(checkpoint, hidden, error);
  if (!error) fs::remove_all(hidden, error);
}

std::vector<fs::path> list_checkpoints(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> found = entries_of(directory, error);
  const bool absent =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !absent) {
    throw InputError("the checkpoints in " + directory.string() + " cannot be listed (" +
                     error.message() + "): make the directory readable, or look at its disk");
  }
  std::erase_if(found, [](const fs::path& path) { return !position_of(path); });
  std::ranges::sort(found, std::greater(),
                    [](const fs::path& path) { return std::pair(position_of(path), path); });
  return found;
}

void set_checkpoint_aside(const fs::path& checkpoint) {
  const std::string name = "passed-over-" + checkpoint.filename().string();
  fs::path aside = checkpoint.parent_path() / name;
  std::error_code error;
  for (int number = 2; fs::exists(aside, error); ++number)
    aside = checkpoint.parent_path() / (name + "-" + std::to_string(number));
  fs::rename(checkpoint, aside, error);
}

void remove_older_checkpoints(const fs::path& directory, std::size_t keep, const fs::path& spared) {
  std::vector<fs::path> all;
  try {
    all = list_checkpoints(directory);
  } catch (const InputError&) {  // what cannot be listed stays
  }
  for (std::size_t i = keep; i < all.size(); ++i)
    if (all[i].filename() != spared.filename()) discard_checkpoint(all[i]);
}

void remove_unfinished_checkpoints(const fs::path& directory) {
  std::error_code error;
  for (const fs::path& path : entries_of(directory, error))
    if (path.filename().string().starts_with(kTemporaryWord)) fs::remove_all(path, error);
}

}  // namespace rueda
