#pragma once

#include <string>

namespace rueda {

/// What the MPI library says of itself: its first line, for example
/// "Open MPI v4.1.4, package: ...". May be called before MPI is initialised.
std::string mpi_library_version();

}  // namespace rueda
