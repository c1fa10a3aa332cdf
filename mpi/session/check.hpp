#pragma once

#include <mpi.h>

namespace rueda {

/// Throws the RunError that belongs to a failed MPI call: its name, this process's rank in the
/// world, and what MPI says about `code`.
[[noreturn]] void throw_mpi_error(int code, const char* call);

/// Every return code of MPI goes through here: `check(MPI_Barrier(comm), "MPI_Barrier")`.
inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw_mpi_error(code, call);
}

/// From now on errors on `comm` come back as return codes instead of ending the job without a word
/// of ours. Duplicates of `comm` inherit this.
void return_errors(MPI_Comm comm);

/// Whether MPI calls are allowed: initialized and not yet finalized.
bool mpi_is_active() noexcept;

}  // namespace rueda
