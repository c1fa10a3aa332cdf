#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rueda::test {

/// A tag whose cases can not run here, and why.
struct Missing {
  std::string tag;     ///< with its brackets
  std::string reason;  ///< one line, as "no CUDA device: ..."
};

/// Runs Catch2 on the command line. Cases with a tag of something missing are left out and counted
/// in the last line, "N passed, M failed, K skipped", with the reasons before it; if nothing else
/// was asked for, the exit code is 77, which Meson reads as skipped. `find_missing` is not called
/// where cases are only listed.
int run_skipping(int argc, char** argv, const std::function<std::vector<Missing>()>& find_missing);

/// Runs Catch2 on the command line without colours, and leaves nothing out.
int run_plainly(int argc, char** argv);

}  // namespace rueda::test
