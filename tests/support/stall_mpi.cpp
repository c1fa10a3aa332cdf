// To be loaded into a program (LD_PRELOAD): RUEDA_TEST_STALL=RANK:CALL stops the process of that
// rank in its first MPI_Finalize, or in its first MPI_Bcast on more than a kilobyte: the replica's.
// With RUEDA_TEST_SLOW_DISK=SECONDS, flushing what belongs to a checkpoint that is being written
// takes as long.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kManyBytes = 1000;

void stall_in(const std::string& call) {
  const char* wanted = std::getenv("RUEDA_TEST_STALL");
  if (wanted == nullptr) return;
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (std::to_string(rank) + ":" + call == wanted) std::raise(SIGSTOP);
}

bool is_of_checkpoint(int fd) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length > 0 && std::string_view(path.data(), std::size_t(length)).find("/.unfinished-") !=
                           std::string_view::npos;
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

extern "C" int fsync(int fd) {
  const char* seconds = std::getenv("RUEDA_TEST_SLOW_DISK");
  if (seconds != nullptr && is_of_checkpoint(fd))
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(seconds)));
  return int(::syscall(SYS_fsync, fd));
}
