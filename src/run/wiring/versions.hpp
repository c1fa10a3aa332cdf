#pragma once

#include <string>

#include "base/text.hpp"

namespace rueda {

/// Version of the program with its git revision, for example "1.0.0 (1a2b3c4)".
/// Ranks of one run must agree on it.
std::string program_version();

/// This program and every library that it runs on, as the loaded libraries report themselves.
Versions component_versions();

/// What `rueda --version` prints.
std::string version_text();

}  // namespace rueda
