#include "version.hpp"

#include <string_view>

#include "version_config.hpp"

namespace rueda {

std::string program_version() {
  const std::string_view revision = RUEDA_GIT_REVISION;
  const std::string version = RUEDA_VERSION;
  // Without a git checkout the build has no revision, or repeats the version in its place.
  if (revision.empty() || revision == version) return version;
  return version + " (" + std::string(revision) + ")";
}

std::string version_text() {
  std::string text = "rueda " + program_version();
  for (const auto& [name, version] : component_versions()) text += "\n  " + name + " " + version;
  return text;
}

}  // namespace rueda
