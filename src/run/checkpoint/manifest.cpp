#include <algorithm>

#include <fmt/format.h>
#include <zlib.h>

#include "base/error.hpp"
#include "base/json/json_fields.hpp"
#include "base/split.hpp"
#include "base/text.hpp"
#include "record/recorded_options.hpp"
#include "record/recorded_path.hpp"
#include "reduce/reduce_table.hpp"
#include "rueda/train/config.hpp"
#include "run/checkpoint/checkpoint_files.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

// The last field of the text. While the sum is taken, its digits are zeros.
constexpr std::string_view kOwnSum = "\"manifest_crc32\": \"";
constexpr std::string_view kNoSum = "00000000";

constexpr std::size_t kMostRanks = 1'000'000;                    // memory is taken for each
constexpr std::size_t kMostGlobalBatch = std::size_t{1} << 40U;  // products of it still fit

std::string hex(std::uint32_t sum) { return fmt::format("{:08x}", sum); }

std::uint32_t sum_of(const JsonView& j) {
  const std::string text = j.raw_text();
  if (text.size() == 8 && text.find_first_not_of("0123456789abcdef") == text.npos)
    return std::uint32_t(std::stoul(text, nullptr, 16));
  throw InputError("'" + printable(text) + "' is no checksum");
}

/// Puts the sum of the text into its place.
std::string sealed(std::string text) {
  const std::size_t at = text.rfind(kOwnSum) + kOwnSum.size();
  return text.replace(at, kNoSum.size(), hex(crc32(text)));
}

bool is_sealed(const std::string& text) {
  const std::size_t field = text.rfind(kOwnSum);
  if (field == text.npos || field + kOwnSum.size() + kNoSum.size() > text.size()) return false;
  std::string open = text;
  open.replace(field + kOwnSum.size(), kNoSum.size(), kNoSum);
  return sealed(std::move(open)) == text;
}

/// The loss is NaN where nothing was computed.
const std::tuple kPositionFields{
    Field{"epochs", in(&Manifest::position, &TrainPosition::epochs)},
    Field{"steps", in(&Manifest::position, &TrainPosition::steps)},
    Derived{"global_step", &Manifest::global_step},
    Field{"steps_per_epoch", &Manifest::steps_per_epoch},
    Field{"loss_so_far", in(&Manifest::position, &TrainPosition::so_far, &Totals::loss), or_nan},
    Field{"correct_so_far", in(&Manifest::position, &TrainPosition::so_far, &Totals::correct),
          or_nan},
    Field{"samples_so_far", in(&Manifest::position, &TrainPosition::so_far, &Totals::samples)},
    Field{"seconds_so_far", in(&Manifest::position, &TrainPosition::seconds)},
    Field{"spent_seconds", in(&Manifest::position, &TrainPosition::spent)},
    Field{"shares", in(&Manifest::position, &TrainPosition::shares), if_any},
    Field{"gpu_joules_so_far", in(&Manifest::position, &TrainPosition::energy, &Energy::gpus),
          or_nan},
    Field{"host_joules_so_far", in(&Manifest::position, &TrainPosition::energy, &Energy::hosts),
          or_nan}};
const std::tuple kWrittenFields{Field{"written_at", &Manifest::written_at}};
const std::tuple kOriginFields{Field{"world_size", &Manifest::world},
                               Field{"micro_batches", &Manifest::micro_batches},
                               Field{"global_batch", &Manifest::global_batch},
                               Field{"versions", &Manifest::versions},
                               Field{kWorkingDirectory, &Manifest::folder, if_any},
                               Field{"all_reduce_table", &Manifest::reduce_table, if_any},
                               Field{"data", &Manifest::data},
                               Field{"machines", &Manifest::machines}};

std::vector<CheckpointFile> read_files(const JsonView& j) {
  std::vector<CheckpointFile> files;
  for (const auto& [name, file] : j.members()) {
    // A name that leads elsewhere is none of ours.
    if (name.empty() || name.find('/') != name.npos || name == "." || name == "..")
      throw InputError("it names the file '" + printable(name) + "'");
    files.push_back({name, file.count("bytes"), sum_of(file.at("crc32"))});
    require(files.back().bytes <= kMostFileBytes, "it names a file of more than 64 GiB");
  }
  return files;
}

/// A number of the recorded configuration; 0 where it has none, or a word.
std::size_t recorded(const JsonView& config, const char* option) {
  if (!config.has(option) || !config.at(option).json().is_number()) return 0;
  return config.count(option);
}

/// Numbers that say the same twice. A micro-batch may be smaller than the one
/// that was asked for (--on-oom halve), never larger.
void check_batch(const Manifest& m, const JsonView& config) {
  const std::size_t parts = m.world * m.micro_batches;
  const std::size_t largest = pieces(m.global_batch, parts);
  const auto differs = [](const char* option, std::size_t is, std::size_t says) {
    throw InputError(fmt::format("its --{} is {}, and its other numbers say {}", option, is, says));
  };
  require(largest <= kMostSamples, fmt::format("its micro-batches are of {} images", largest));
  const std::size_t accumulate = recorded(config, "accumulate");
  if (accumulate != 0 && accumulate != m.micro_batches)
    differs("accumulate", accumulate, m.micro_batches);
  const std::size_t global = recorded(config, "global-batch");
  const std::size_t each = recorded(config, "batch-per-rank");
  if (global != 0 && global != m.global_batch) differs("global-batch", global, m.global_batch);
  if (global == 0 && each != 0 && each < largest) differs("batch-per-rank", each, largest);
}

void check_shares(const Manifest& m) {
  const std::vector<std::size_t>& shares = m.position.shares;
  if (shares.empty()) return;
  require(shares.size() == m.world, fmt::format("it has the shares of {}, not of {}",
                                                counted(shares.size(), "rank"), m.world));
  std::size_t left = m.global_batch;
  for (const std::size_t share : shares) {
    require(share > 0 && share <= left, "its shares are not those of its global batch");
    left -= share;
  }
  require(left == 0, "its shares are not those of its global batch");
}

/// `global_step`: as it was written down.
void check_position(const Manifest& m, std::size_t global_step) {
  const TrainPosition& at = m.position;
  require(at.steps <= m.steps_per_epoch,
          fmt::format("it has {} steps of an epoch of {}", at.steps, m.steps_per_epoch));
  require(global_step == m.global_step(),
          fmt::format("its global_step is {}, and its other numbers say {}", global_step,
                      m.global_step()));
  const double most = double(at.steps) * double(m.global_batch);
  const bool full = at.steps < m.steps_per_epoch;  // only an epoch's last step may be partial
  require(full ? at.so_far.samples == most : at.so_far.samples <= most,
          fmt::format("it has {} samples of {} steps of {}", at.so_far.samples, at.steps,
                      m.global_batch));
  require(at.seconds >= 0 && at.spent >= 0, "a time in it is below 0");
}

Manifest manifest_from(const JsonView& j) {
  Manifest m;
  read_fields(j, m, kWrittenFields);
  read_fields(j.at("position"), m, kPositionFields);
  read_fields(j, m, kOriginFields);
  m.config = recorded_options(j.at("config").json()).dump();
  m.files = read_files(j.at("files"));
  require(m.world != 0 && m.micro_batches != 0 && m.global_batch != 0, "a count in it is 0");
  require(m.world <= kMostRanks, "it is of more than a million ranks");
  require(m.micro_batches <= kMostSamples,
          "it has more than a million micro-batches per rank and step");
  require(m.global_batch <= kMostGlobalBatch, "its global batch is beyond any use");
  require(m.machines.size() == m.world,
          fmt::format("it is of {} and names {}", counted(m.world, "rank"),
                      counted(m.machines.size(), "machine")));
  if (!m.reduce_table.empty()) parse_reduce_table(m.reduce_table);
  check_batch(m, j.at("config"));
  check_shares(m);
  check_position(m, j.at("position").count("global_step"));
  return m;
}

// Parts of the names in a directory of checkpoints.
constexpr std::string_view kEpochWord = "epoch-";
constexpr std::string_view kStepWord = "-step-";

using Position = std::pair<std::size_t, std::size_t>;  ///< epochs, steps

std::optional<Position> position_of(const fs::path& checkpoint) {
  const std::string file = checkpoint.filename().string();
  std::string_view name = file;
  const auto epochs = take(name, kEpochWord) ? take_number(name) : std::nullopt;
  const auto steps = take(name, kStepWord) ? take_number(name) : std::nullopt;
  if (!epochs || !steps || !name.empty()) return std::nullopt;
  return Position{*epochs, *steps};
}

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  return std::uint32_t(::crc32_z(before, begin, bytes.size()));
}

InputFile checkpoint_file(const fs::path& path) {
  return {path, "checkpoint " + path.string(), "use another checkpoint", Wanted::anything};
}

std::string to_json(const Manifest& m) {
  Json j;
  j["schema"] = "rueda-checkpoint";
  j["schema_version"] = kCheckpointSchemaVersion;
  put_fields(j, m, kWrittenFields);
  j["position"] = fields_json(m, kPositionFields);
  put_fields(j, m, kOriginFields);
  j["config"] = Json::parse(m.config);
  j["files"] = Json::object();
  for (const CheckpointFile& file : m.files)
    j["files"][file.name] = {{"bytes", file.bytes}, {"crc32", hex(file.crc32)}};
  j["manifest_crc32"] = kNoSum;
  return sealed(text_of(j, 2) + "\n");
}

Manifest parse_manifest(const std::string& text, const fs::path& path) {
  const InputFile file = checkpoint_file(path);
  if (!is_sealed(text)) file.refuse("its manifest is damaged");
  const Json json = parse_json(text, file);
  JsonView(json, file)
      .require_schema("rueda-checkpoint", kCheckpointSchemaVersion, "manifest of a checkpoint");
  try {
    return manifest_from(JsonView(json));
  } catch (const InputError& error) {
    file.refuse(std::string("its manifest is not as expected: ") + error.what());
  }
}

std::string checkpoint_name(const TrainPosition& position) {
  return fmt::format("{}{:04}{}{:05}", kEpochWord, position.epochs, kStepWord, position.steps);
}

bool is_later(const fs::path& checkpoint, const TrainPosition& position) {
  const auto found_at = position_of(checkpoint);
  return found_at && *found_at > Position{position.epochs, position.steps};
}

std::string foreign_file_in(const fs::path& checkpoint) {
  std::error_code error;
  for (const fs::path& path : entries_of(checkpoint, error)) {
    const std::string name = path.filename().string();
    const bool own = std::ranges::any_of(kCheckpointFiles, [&](const char* file) {
      return name == file || is_temporary_of(name, file);
    });
    if (!own) return name;
  }
  return "";
}

void discard_checkpoint(const fs::path& checkpoint) {
  if (!foreign_file_in(checkpoint).empty()) return;
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
  std::error_code none;
  if (fs::is_symlink(fs::symlink_status(directory, none))) return;
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
  if (fs::is_symlink(fs::symlink_status(directory, error))) return;
  for (const fs::path& path : entries_of(directory, error)) {
    const bool unfinished = path.filename().string().starts_with(kTemporaryWord);
    if (unfinished && foreign_file_in(path).empty()) fs::remove_all(path, error);
  }
}

}  // namespace rueda
