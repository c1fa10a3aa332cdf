#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "rueda/study/run_result.hpp"

namespace rueda {

/// What jobs/scale.sh wrote about one run that it started (attempt.json): also of those that were
/// refused or failed before they had a run.json.
struct Attempt {
  std::filesystem::path file;
  std::string model;
  std::size_t ranks = 0;
  std::size_t rank_batch = 0;    ///< 0: a global batch was asked for
  std::size_t global_batch = 0;  ///< 0: a batch per rank was asked for
  int exit_code = 0;
  std::string message;  ///< the program's, empty if it gave none
};

/// A file that was found and could not be read.
struct Unreadable {
  std::filesystem::path file;
  std::string why;
};

/// Everything found below the directories of a study.
struct Study {
  std::vector<RunResult> runs;         ///< with at least one finished epoch
  std::vector<RunResult> empty_runs;   ///< without
  std::vector<Attempt> failed;         ///< attempts that did not end well
  std::vector<Unreadable> unreadable;  ///< in directories that hold others
};

/// Reads run.json and attempt.json of every directory below `places` (five levels deep, symbolic
/// links are not followed); a place may also be such a file. Files found below count once. Throws
/// InputError if a place is not there or none holds anything, and if a place's own file cannot be
/// read; one that lies deeper is put into `unreadable`.
Study load_study(const std::vector<std::filesystem::path>& places);

}  // namespace rueda
