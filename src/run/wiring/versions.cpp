#include "run/wiring/versions.hpp"

#include <string_view>
#include <utility>

#include "cuda/device/device_query.hpp"
#include "mpi/session/session.hpp"
#include "version_config.hpp"
#if RUEDA_WITH_CPU
#include "cpu/cpu_backend.hpp"
#endif

namespace rueda {
std::string program_version() {
  const std::string_view revision = RUEDA_GIT_REVISION;
  const std::string version = RUEDA_VERSION;
  // Without a git checkout the build has no revision, or repeats the version in its place.
  if (revision.empty() || revision == version) return version;
  return version + " (" + std::string(revision) + ")";
}

Versions component_versions() {
  Versions versions = {{"rueda", program_version()}, {"MPI", mpi_library_version()}};
#if RUEDA_WITH_CPU
  versions.emplace_back("oneDNN", cpu::onednn_version());
#else
  versions.emplace_back("oneDNN", "not built in");
#endif
#if RUEDA_WITH_CUDA
  for (auto& component : cuda_component_versions()) versions.push_back(std::move(component));
#else
  versions.emplace_back("CUDA", "not built in");
#endif
  return versions;
}

std::string version_text() {
  std::string text;
  for (const auto& [name, version] : component_versions())
    text += (text.empty() ? "" : "\n  ") + name + " " + version;
  return text;
}

}  // namespace rueda
