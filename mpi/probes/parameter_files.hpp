#pragma once

#include <string>
#include <vector>

namespace rueda {

/// The files in which Open MPI looks for settings, as it says itself: the one
/// that holds against variables, then those that hold if nothing else does, the
/// first that sets something before later ones. Empty: another MPI.
///
/// For this Open MPI reads all of its settings. What this process sets later,
/// before MPI is initialised, does not count any more.
std::vector<std::string> open_mpi_parameter_files();

}  // namespace rueda
