#include "output_file.hpp"

#include <filesystem>
#include <system_error>

#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"
#include "run_directory.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const TrainConfig& config, const std::string& why,
                         const std::string& remedy) {
  throw InputError("--save-weights " + config.save_weights + ": " + why + "; " + remedy);
}

}  // namespace

void check_output_file(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  if (fs::is_directory(path, ignored) || !can_write_into(folder.empty() ? "." : folder)) {
    throw InputError(option + " " + path +
                     ": a file cannot be written there; name one in a folder that exists and that "
                     "you may write into");
  }
}

void check_weights_target(const TrainConfig& config, bool own_file) {
  if (config.save_weights.empty()) return;
  const fs::path path = config.save_weights;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!path.has_filename() || (fs::exists(status) && !fs::is_regular_file(status))) {
    refuse(config, "this is not a regular file", "give the path of a file to write");
  }
  if (fs::exists(status) && !config.overwrite && !own_file) {
    refuse(config, "there is such a file", "give another path, or add --overwrite");
  }
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (names_run_directory(config, parent)) {
    if (path.filename() != kRunJsonName && path.filename() != kStepsCsvName) return;
    refuse(config, "the run writes another file of this name", "give another name");
  }
  if (!fs::is_directory(parent, ignored)) {
    refuse(config, "the directory " + parent.string() + " does not exist",
           "make it, or give another path");
  }
  if (!can_write_into(parent)) {
    refuse(config, "the directory " + parent.string() + " can not be written",
           "check its permissions and free space, or give another path");
  }
}

}  // namespace rueda
