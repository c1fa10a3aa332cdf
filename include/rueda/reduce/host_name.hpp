#pragma once

#include <string>

namespace rueda {

/// The name of this machine as messages and run records give it; "unknown host" if it has none.
std::string host_name();

}  // namespace rueda
