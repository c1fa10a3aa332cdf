#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rueda {

/// Version of the program with its git revision, for example "0.1.0 (1a2b3c4)". Ranks of one run
/// must agree on it.
std::string program_version();

/// Name and version of every library that this build runs on (MPI, oneDNN, CUDA, cuDNN ...), as
/// the loaded libraries themselves report it.
std::vector<std::pair<std::string, std::string>> component_versions();

/// What `rueda --version` prints.
std::string version_text();

}  // namespace rueda
