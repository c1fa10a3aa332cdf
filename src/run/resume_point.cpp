#include "resume_point.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "rueda/checkpoint/checkpoint_directory.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts(const std::vector<fs::path>& paths) {
  std::vector<std::string> all;
  for (const fs::path& path : paths) all.push_back(path.string());
  return all;
}

/// Without the slash that completing a name leaves behind it.
fs::path tidy(const fs::path& path) {
  const fs::path tidied = path.lexically_normal();
  return tidied.has_filename() ? tidied : tidied.parent_path();
}

/// "epoch 3, 12 of 40 steps" or "after epoch 3".
std::string place_text(const Manifest& m) {
  const TrainPosition& at = m.position;
  if (at.steps == 0) return "after epoch " + std::to_string(at.epochs);
  return "in epoch " + std::to_string(at.epochs + 1) + ", after " + std::to_string(at.steps) +
         " of " + std::to_string(m.steps_per_epoch) + " steps";
}

/// The first that is whole; what is wrong with those before it becomes remarks.
ResumePoint latest_whole(const std::vector<std::string>& candidates) {
  ResumePoint point;
  std::string first_damage;
  for (const std::string& candidate : candidates) {
    try {
      point.manifest = verify_checkpoint(candidate);
      point.checkpoint = candidate;
      return point;
    } catch (const InputError& error) {
      if (candidates.size() == 1) throw;
      if (first_damage.empty()) first_damage = error.what();
      point.remarks.push_back(std::string("passed over: ") + error.what());
    }
  }
  throw InputError("none of the " + std::to_string(candidates.size()) +
                   " checkpoints is undamaged; the latest: " + first_damage);
}

std::string encode(const ResumePoint& point) {
  std::string text = point.checkpoint + '\n' + std::to_string(point.remarks.size()) + '\n';
  for (const std::string& remark : point.remarks) text += remark + '\n';
  return text + to_json(point.manifest);
}

ResumePoint decode(const std::string& text) {
  std::istringstream lines(text);
  ResumePoint point;
  std::string line;
  std::getline(lines, point.checkpoint);
  std::getline(lines, line);
  point.remarks.resize(std::stoul(line));
  for (std::string& remark : point.remarks) std::getline(lines, remark);
  const auto begin = static_cast<std::size_t>(lines.tellg());
  point.manifest = parse_manifest(text.substr(begin), point.checkpoint);
  return point;
}

}  // namespace

std::string run_directory_of(const std::string& checkpoint) {
  fs::path checkpoints = tidy(checkpoint).parent_path();
  std::error_code none;
  // A link to it, or named from where it lies.
  if (checkpoints.filename() != kCheckpointsName)
    checkpoints = fs::weakly_canonical(checkpoint, none).parent_path();
  if (checkpoints.filename() != kCheckpointsName) return "";
  return checkpoints.has_parent_path() ? checkpoints.parent_path().string() : ".";
}

std::vector<std::string> resume_candidates(const TrainConfig& config) {
  if (config.resume == "auto")
    return texts(list_checkpoints(fs::path(config.run_dir) / kCheckpointsName));
  const fs::path given = tidy(config.resume);
  std::error_code ignored;
  if (fs::exists(given / kManifestName, ignored)) return {given.string()};
  auto found = texts(list_checkpoints(given / kCheckpointsName));
  if (!found.empty()) return found;
  throw InputError("--resume " + config.resume +
                   ": there is no checkpoint; give a run directory that has some below " +
                   kCheckpointsName + "/, one of these, or auto");
}

std::optional<ResumePoint> find_resume_point(RankGroup& world, const TrainConfig& config) {
  if (config.resume.empty()) return std::nullopt;
  std::string found;
  together(world, [&] {
    if (world.rank() != 0) return;
    const auto candidates = resume_candidates(config);
    if (candidates.empty()) return;
    ResumePoint point = latest_whole(candidates);
    point.remarks.insert(point.remarks.begin(),
                         "resumes from " + point.checkpoint + ", " + place_text(point.manifest));
    found = encode(point);
  });
  const std::string text = all_gather_text(world, found).front();
  if (text.empty()) return std::nullopt;
  return decode(text);
}

}  // namespace rueda
