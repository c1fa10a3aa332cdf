#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/json/bounded_json.hpp"
#include "base/text.hpp"
#include "model/weights/safetensors.hpp"
#include "model/weights/weights_file.hpp"
#include "run/checkpoint/checkpoint_files.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostManifestBytes = 16 << 20;
constexpr std::size_t kReadBytes = 1 << 16;

/// A new directory that goes in the end, unless it got its final name.
struct UnfinishedDirectory {
  explicit UnfinishedDirectory(fs::path at) : path(std::move(at)) {
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(path.parent_path(), error)))
      throw RunError(path.parent_path().string() + " has become a link: " + kOwnCheckpoints);
    fs::remove_all(path, error);
    if (!fs::create_directories(path, error) || error) {
      throw RunError("cannot write the checkpoint " + path.string() + ": " + error.message() +
                     "; check that its directory is writable and has room");
    }
  }
  UnfinishedDirectory(const UnfinishedDirectory&) = delete;
  ~UnfinishedDirectory() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }

  const fs::path path;
};

void rename_checkpoint(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::exists(to, error)) discard_checkpoint(to);
  fs::rename(from, to, error);
  if (error)
    throw RunError("cannot rename the checkpoint to " + to.string() + ": " + error.message());
  flush_directory(to.parent_path());
  flush_directory(to.parent_path().parent_path());  // the first one made its directory, too
}

/// Length and CRC-32 of a regular file. `fresh`: from the disk, as far as the
/// system can be asked not to answer from memory. Throws InputError where it
/// cannot be read.
CheckpointFile sum_file(const fs::path& directory, const std::string& name, bool fresh = false) {
  const InputFile input = checkpoint_file(directory / name);
  require_regular_file(input, kMostFileBytes);
  const OpenFile file(input.path, O_RDONLY | O_CLOEXEC);
  if (file.fd() < 0) input.refuse(fmt::format("it cannot be opened: {}", std::strerror(errno)));
  if (fresh) ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  CheckpointFile sum{.name = name};
  std::array<char, kReadBytes> bytes;
  while (true) {
    const ssize_t count = ::read(file.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) input.refuse(fmt::format("it cannot be read: {}", std::strerror(errno)));
    if (count == 0) break;
    sum.crc32 = crc32({bytes.data(), std::size_t(count)}, sum.crc32);
    sum.bytes += std::size_t(count);
  }
  return sum;
}

/// Returns what is on the disk now.
std::vector<CheckpointFile> write_files(const fs::path& directory, const Graph& graph,
                                        const Snapshot& s, std::size_t steps) {
  save_weights(graph, directory / kCheckpointWeightsName, s.parameters, s.statistics, steps);
  save_weights(graph, directory / kMomentumName, s.velocities, {}, 0);
  write_output(directory / kHistoryName, [&s](const TextSink& put) {
    for (const SharedText& piece : s.history) put(*piece);
  });
  std::vector<CheckpointFile> files;
  for (const char* name : {kCheckpointWeightsName, kMomentumName, kHistoryName})
    files.push_back(sum_file(directory, name));
  return files;
}

void compare(const fs::path& directory, const CheckpointFile& expected, bool fresh) {
  const InputFile file = checkpoint_file(directory / expected.name);
  const auto require_length = [&](std::size_t bytes) {
    file.require(bytes == expected.bytes,
                 fmt::format("it has {} bytes, its manifest says {}", bytes, expected.bytes));
  };
  // Before it is read: a file may say that it is longer than any disk.
  std::error_code unknown;
  const std::size_t length = fs::file_size(file.path, unknown);
  if (!unknown) require_length(length);
  const CheckpointFile found = sum_file(directory, expected.name, fresh);
  require_length(found.bytes);
  file.require(found.crc32 == expected.crc32,
               fmt::format("it is damaged: its checksum is {:08x}, its manifest says {:08x}",
                           found.crc32, expected.crc32));
}

Manifest verify(const fs::path& checkpoint, bool fresh) {
  Manifest manifest = read_manifest(checkpoint);
  for (const CheckpointFile& file : manifest.files) compare(checkpoint, file, fresh);
  return manifest;
}

bool has(const Manifest& manifest, const std::string& name) {
  return std::ranges::count(manifest.files, name, &CheckpointFile::name) > 0;
}

}  // namespace

Manifest read_manifest(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kManifestName;
  std::error_code error;
  checkpoint_file(checkpoint).require(fs::is_regular_file(path, error), "it has no manifest.json");
  return parse_manifest(read_whole(checkpoint_file(path), kMostManifestBytes), checkpoint);
}

fs::path write_checkpoint(const fs::path& directory, const Graph& graph, const Snapshot& snapshot,
                          Manifest& manifest) {
  const std::string name = checkpoint_name(manifest.position);
  UnfinishedDirectory unfinished(directory / (std::string(kTemporaryWord) + name));
  try {
    manifest.files = write_files(unfinished.path, graph, snapshot, manifest.global_step());
    write_output(unfinished.path / kManifestName, to_json(manifest));
    verify(unfinished.path, true);
  } catch (const InputError& error) {
    throw RunError(std::string("a checkpoint cannot be read back as it was written: ") +
                   error.what() + "; look at the disk");
  }
  rename_checkpoint(unfinished.path, directory / name);
  return directory / name;
}

Manifest verify_checkpoint(const fs::path& checkpoint) {
  Manifest manifest = verify(checkpoint, false);
  for (const std::string name : {kCheckpointWeightsName, kMomentumName, kHistoryName})
    checkpoint_file(checkpoint).require(has(manifest, name), "its manifest lacks " + name);
  return manifest;
}

Snapshot read_snapshot(const fs::path& checkpoint, const Graph& graph) {
  Snapshot s;
  s.parameters.resize(graph.parameter_count());
  s.statistics.resize(graph.statistics_count());
  s.velocities.resize(graph.parameter_count());
  load_weights(graph, checkpoint / kCheckpointWeightsName, s.parameters, s.statistics);
  load_weights(graph, checkpoint / kMomentumName, s.velocities, {});
  s.history = {share(read_whole(checkpoint_file(checkpoint / kHistoryName), kMostHistoryBytes))};
  return s;
}

CheckpointRecord CheckpointWriter::carry_out(Manifest manifest, double pause_seconds) const {
  const Stopwatch watch;
  CheckpointRecord record;
  record.path = write_checkpoint(directory_, graph_, snapshot_, manifest).string();
  remove_older_checkpoints(directory_, keep_, record.path);
  record.epochs = manifest.position.epochs;
  record.steps = manifest.position.steps;
  for (const CheckpointFile& file : manifest.files) record.bytes += file.bytes;
  record.pause_seconds = pause_seconds;
  record.write_seconds = watch.seconds();
  return record;
}

}  // namespace rueda
