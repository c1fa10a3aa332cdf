// To be loaded into a program (LD_PRELOAD): RUEDA_TEST_STALL=RANK:CALL stops the process of that
// rank in its first MPI_Finalize, or in its first MPI_Bcast on more than a kilobyte: the replica's.
#include <csignal>
#include <cstdlib>
#include <string>

#include <mpi.h>

namespace {

constexpr int kManyBytes = 1000;

void stall_in(const std::string& call) {
  const char* wanted = std::getenv("RUEDA_TEST_STALL");
  if (wanted == nullptr) return;
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (std::to_string(rank) + ":" + call == wanted) std::raise(SIGSTOP);
}

}  // namespace

extern "C" int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (count > kManyBytes) stall_in("MPI_Bcast");
  return PMPI_Bcast(buffer, count, type, root, comm);
}

extern "C" int MPI_Finalize() {
  stall_in("MPI_Finalize");
  return PMPI_Finalize();
}
