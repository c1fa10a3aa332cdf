#include "version.hpp"

#include <array>

#include "check.hpp"

namespace rueda {

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string all(text.data());  // Open MPI counts the terminating zero as a character
  return all.substr(0, all.find_first_of("\r\n"));
}

}  // namespace rueda
