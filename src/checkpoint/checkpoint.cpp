#include "rueda/checkpoint/checkpoint.hpp"

#include <charconv>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "checkpoint_files.hpp"
#include "core/bounded_json.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/weights/safetensors.hpp"
#include "rueda/weights/weights_file.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostManifestBytes = 16 << 20;

/// A directory that goes again unless it got its final name.
class UnfinishedDirectory {
 public:
  explicit UnfinishedDirectory(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    fs::remove_all(path_, error);
    if (!fs::create_directories(path_, error) || error) {
      throw RunError("cannot write the checkpoint " + path_.string() + ": " + error.message() +
                     "; check that its directory is writable and has room");
    }
  }
  UnfinishedDirectory(const UnfinishedDirectory&) = delete;
  UnfinishedDirectory& operator=(const UnfinishedDirectory&) = delete;
  ~UnfinishedDirectory() {
    std::error_code ignored;
    if (!finished_) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const noexcept { return path_; }

  void finish(const fs::path& name) {
    if (fs::exists(name)) discard_checkpoint(name);
    std::error_code error;
    fs::rename(path_, name, error);
    if (error)
      throw RunError("cannot rename the checkpoint to " + name.string() + ": " + error.message());
    finished_ = true;
    flush_directory(name.parent_path());
  }

 private:
  fs::path path_;
  bool finished_ = false;
};

void save_carried(const fs::path& path, const std::vector<std::vector<float>>& carried) {
  std::vector<TensorData> tensors;
  for (std::size_t rank = 0; rank < carried.size(); ++rank) {
    tensors.push_back({.name = "rank" + std::to_string(rank),
                       .dtype = "F32",
                       .shape = {carried[rank].size()},
                       .bytes = std::as_bytes(std::span(carried[rank]))});
  }
  write_safetensors(path, tensors, {});
}

/// 7 of "rank7"; beyond any rank for other names.
std::size_t rank_of(std::string_view name) {
  constexpr std::string_view kWord = "rank";
  std::size_t rank = 0;
  if (!name.starts_with(kWord)) return std::string_view::npos;
  const auto read = std::from_chars(name.data() + kWord.size(), name.data() + name.size(), rank);
  const bool whole = read.ec == std::errc() && read.ptr == name.data() + name.size();
  return whole ? rank : std::string_view::npos;
}

std::vector<std::vector<float>> load_carried(const fs::path& path, std::size_t ranks) {
  SafetensorsFile file(path);
  std::vector<std::vector<float>> carried(ranks);
  for (const TensorEntry& tensor : file.tensors()) {
    const std::size_t rank = rank_of(tensor.name);
    if (rank >= ranks || tensor.dtype != "F32") continue;
    carried[rank].resize((tensor.end - tensor.begin) / sizeof(float));
    file.read(tensor, carried[rank]);
  }
  return carried;
}

/// Of files just written: what they were to be, as far as that is known, and what they are.
std::vector<CheckpointFile> write_files(const fs::path& directory, const Graph& graph,
                                        const Snapshot& s, std::size_t steps) {
  save_weights(graph, directory / kWeightsName, s.parameters, s.statistics, steps);
  save_per_parameter(graph, directory / kMomentumName, s.velocities);
  write_atomically(directory / kHistoryName, [&s](const TextSink& put) {
    for (const SharedText& piece : s.history) put(*piece);
  });
  std::vector<std::string> names = {kWeightsName, kMomentumName, kHistoryName};
  if (!s.carried.empty()) {
    save_carried(directory / kCarriedName, s.carried);
    names.emplace_back(kCarriedName);
  }
  std::vector<CheckpointFile> files;
  for (const std::string& name : names) files.push_back(sum_file(directory, name));
  return files;
}

void compare(const fs::path& directory, const CheckpointFile& expected, bool fresh) {
  const fs::path path = directory / expected.name;
  const auto require_length = [&](std::size_t bytes) {
    if (bytes == expected.bytes) return;
    checkpoint_file(path).refuse(
        fmt::format("it has {} bytes, its manifest says {}", bytes, expected.bytes));
  };
  // Before it is read: a file may say that it is longer than any disk.
  std::error_code unknown;
  const std::size_t length = fs::file_size(path, unknown);
  if (!unknown) require_length(length);
  const CheckpointFile found = sum_file(directory, expected.name, fresh);
  require_length(found.bytes);
  if (found.crc32 != expected.crc32) {
    checkpoint_file(path).refuse(
        fmt::format("it is damaged: its checksum is {:08x}, its manifest says {:08x}", found.crc32,
                    expected.crc32));
  }
}

Manifest verify(const fs::path& checkpoint, bool fresh) {
  Manifest manifest = read_manifest(checkpoint);
  for (const CheckpointFile& file : manifest.files) compare(checkpoint, file, fresh);
  return manifest;
}

bool has(const Manifest& manifest, const char* name) {
  for (const CheckpointFile& file : manifest.files)
    if (file.name == name) return true;
  return false;
}

}  // namespace

std::string checkpoint_name(const TrainPosition& position) {
  return fmt::format("{}{:04}{}{:05}", kEpochWord, position.epochs, kStepWord, position.steps);
}

Manifest read_manifest(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kManifestName;
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    checkpoint_file(checkpoint).refuse("it has no manifest.json");
  return parse_manifest(read_whole(checkpoint_file(path), kMostManifestBytes), checkpoint);
}

fs::path write_checkpoint(const fs::path& directory, const Graph& graph, const Snapshot& snapshot,
                          Manifest& manifest) {
  const std::string name = checkpoint_name(manifest.position);
  UnfinishedDirectory unfinished(directory / (std::string(kTemporaryWord) + name));
  try {
    manifest.files = write_files(unfinished.path(), graph, snapshot, manifest.global_step());
    write_atomically(unfinished.path() / kManifestName, to_json(manifest));
    verify(unfinished.path(), true);
  } catch (const InputError& error) {
    throw RunError(std::string("a checkpoint cannot be read back as it was written: ") +
                   error.what() + "; look at the disk");
  }
  unfinished.finish(directory / name);
  return directory / name;
}

Manifest verify_checkpoint(const fs::path& checkpoint) {
  Manifest manifest = verify(checkpoint, false);
  for (const char* name : {kWeightsName, kMomentumName, kHistoryName})
    if (!has(manifest, name))
      checkpoint_file(checkpoint).refuse(std::string("its manifest lacks ") + name);
  return manifest;
}

Snapshot read_snapshot(const fs::path& checkpoint, const Manifest& manifest, const Graph& graph) {
  Snapshot s;
  s.parameters.resize(graph.parameter_count());
  s.statistics.resize(graph.statistics_count());
  s.velocities.resize(graph.parameter_count());
  load_weights(graph, checkpoint / kWeightsName, s.parameters, s.statistics);
  load_per_parameter(graph, checkpoint / kMomentumName, s.velocities);
  s.history = {share(read_whole(checkpoint_file(checkpoint / kHistoryName), kMostHistoryBytes))};
  if (has(manifest, kCarriedName))
    s.carried = load_carried(checkpoint / kCarriedName, manifest.world);
  return s;
}

}  // namespace rueda
