#include "output_file.hpp"

#include <filesystem>

#include "rueda/core/error.hpp"
#include "run_directory.hpp"

namespace rueda {

void check_output_file(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) ||
      !can_write_into(folder.empty() ? "." : folder)) {
    throw InputError(option + " " + path +
                     ": a file cannot be written there; name one in a folder that exists and that "
                     "you may write into");
  }
}

}  // namespace rueda
