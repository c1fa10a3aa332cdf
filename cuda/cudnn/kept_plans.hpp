#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rueda::cuda {

struct CudnnPlan;

/// Plans that NVRTC compiled, in cuDNN's own words: files for later runs, and
/// texts that come from other ranks of this one.
///
/// What is kept of a plan begins with its title and a hash of the rest. The
/// title names engine, work, GPU and version of cuDNN. cuDNN gets no text that
/// is damaged: it may crash.
class KeptPlans {
 public:
  /// For the kind of GPU with this name, and the cuDNN that is loaded.
  explicit KeptPlans(const std::string& gpu);

  /// From now on, plans are kept in `folder` as well, a file each.
  void keep_in(std::filesystem::path folder) { folder_ = std::move(folder); }

  bool has_folder() const noexcept { return !folder_.empty(); }

  /// For a plan's title: what `keep` returned somewhere.
  void add(const std::string& title, std::string kept) { added_[title] = std::move(kept); }

  /// The title of the plan with this engine for the work that `key` names. One line.
  std::string title(const std::string& engine, const std::string& key) const;

  /// Makes `plan`, which has a target alone, of what is kept for the title.
  /// False if nothing is, or cuDNN does not take it.
  bool restore(const std::string& title, CudnnPlan& plan);

  /// Keeps a plan that was compiled, and returns what is kept. Empty if cuDNN gives no text.
  std::string keep(const std::string& title, const CudnnPlan& plan);

  /// What was not read or not written, and why.
  const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  std::filesystem::path file(const std::string& title) const;
  void write(const std::string& title, const std::string& kept);

  std::string kind_;  ///< GPU and cuDNN
  std::filesystem::path folder_;
  std::map<std::string, std::string> added_;  ///< by title
  std::vector<std::string> notes_;
};

}  // namespace rueda::cuda
