#include "record/recorded_path.hpp"

#include <filesystem>
#include <system_error>

namespace rueda {

namespace fs = std::filesystem;

std::string working_directory() {
  std::error_code none;
  return fs::current_path(none).string();
}

std::string recorded_path(const std::string& path, const std::string& folder) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  if (!fs::path(folder).is_absolute() || folder == working_directory()) return path;
  const fs::path there = (fs::path(folder) / path).lexically_normal();
  std::error_code none;
  if (!fs::exists(there, none)) return path;
  return there.string();
}

}  // namespace rueda
