#include "check.hpp"

#include <array>
#include <string>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

std::string reason(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "an unknown error";
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string world_rank() {
  int rank = 0;
  if (!mpi_is_active() || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) return "unknown";
  return std::to_string(rank);
}

}  // namespace

void throw_mpi_error(int code, const char* call) {
  throw RunError(std::string(call) + " failed on rank " + world_rank() + ": " + reason(code) +
                 " (code " + std::to_string(code) +
                 "); another rank may have ended, see the messages above");
}

void return_errors(MPI_Comm comm) {
  check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

bool mpi_is_active() noexcept {
  int initialized = 0;
  int finalized = 0;
  return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 &&
         MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0;
}

}  // namespace rueda
