#include "mpi/session/session.hpp"
#include "version.hpp"
#if RUEDA_WITH_CPU
#include "cpu/cpu_backend.hpp"
#endif
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#endif

namespace rueda {

std::vector<std::pair<std::string, std::string>> component_versions() {
  std::vector<std::pair<std::string, std::string>> versions = {{"MPI", mpi_library_version()}};
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

}  // namespace rueda
