// To be loaded into a program (LD_PRELOAD): RUEDA_TEST_STALL=RANK:CALL stops the process of that
// rank in its first MPI_Finalize, or in its first MPI_Bcast on more than a kilobyte: the replica's.
// With RUEDA_TEST_SLOW_DISK=SECONDS, flushing what belongs to a checkpoint that is being written
// takes as long. With RUEDA_TEST_COUNT=FOLDER each rank leaves a file there: its calls of
// MPI_Sendrecv (without those of a few floats, which read clocks), the floats that these sent, and
// the most floats of an MPI_Allreduce; then a line with the name, the calls and the bytes of each
// collective that gathers, which this rank received. With
// RUEDA_TEST_HOLD=RANK:SENDER:NUMBER:SECONDS that rank has the message of this number from the
// sender, counted as these calls are, so much later: as if the link between them had been cut
// meanwhile.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
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

long long exchanges = 0, sent = 0, most_reduced = 0;

struct Gathered {
  long long calls = 0, bytes = 0;
};
std::map<std::string, Gathered> gathered;

/// A collective brought this rank so many elements.
void note_gathered(const char* call, long long count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  Gathered& known = gathered[call];
  ++known.calls;
  known.bytes += count * size;
}

long long sum_of(const int* counts, MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  return std::accumulate(counts, counts + ranks, 0LL);
}

void write_counts() {
  const char* folder = std::getenv("RUEDA_TEST_COUNT");
  if (folder == nullptr) return;
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::ofstream file(folder + ("/" + std::to_string(rank)));
  file << exchanges << ' ' << sent << ' ' << most_reduced << '\n';
  for (const auto& [call, known] : gathered)
    file << call << ' ' << known.calls << ' ' << known.bytes << '\n';
}

/// What RUEDA_TEST_HOLD says; not for this rank: no message has the number.
struct Hold {
  int sender = -1;
  long number = -1;
  double seconds = 0;

  Hold() {
    const char* wanted = std::getenv("RUEDA_TEST_HOLD");
    int mine = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &mine);
    int rank = -1;
    if (wanted == nullptr) return;
    if (std::sscanf(wanted, "%d:%d:%ld:%lf", &rank, &sender, &number, &seconds) != 4 ||
        rank != mine)
      sender = -1;
  }
};

/// A message has come.
void hold(int sender) {
  static const Hold held;
  static long come = 0;
  if (sender == held.sender && ++come == held.number)
    std::this_thread::sleep_for(std::chrono::duration<double>(held.seconds));
}

}  // namespace

extern "C" int MPI_Sendrecv(const void* from, int count, MPI_Datatype type, int to, int tag,
                            void* into, int room, MPI_Datatype into_type, int source, int into_tag,
                            MPI_Comm comm, MPI_Status* status) {
  constexpr int kFew = 16;
  exchanges += count > kFew;
  sent += count > kFew ? count : 0;
  const int result = PMPI_Sendrecv(from, count, type, to, tag, into, room, into_type, source,
                                   into_tag, comm, status);
  if (room > kFew) hold(source);
  return result;
}

extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  most_reduced = std::max<long long>(most_reduced, count);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

extern "C" int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int each,
                             MPI_Datatype each_type, MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  note_gathered("MPI_Allgather", static_cast<long long>(ranks) * each, each_type);
  return PMPI_Allgather(from, count, type, to, each, each_type, comm);
}

extern "C" int MPI_Allgatherv(const void* from, int count, MPI_Datatype type, void* to,
                              const int* counts, const int* offsets, MPI_Datatype each_type,
                              MPI_Comm comm) {
  note_gathered("MPI_Allgatherv", sum_of(counts, comm), each_type);
  return PMPI_Allgatherv(from, count, type, to, counts, offsets, each_type, comm);
}

extern "C" int MPI_Gatherv(const void* from, int count, MPI_Datatype type, void* to,
                           const int* counts, const int* offsets, MPI_Datatype each_type, int root,
                           MPI_Comm comm) {
  int rank = -1;
  PMPI_Comm_rank(comm, &rank);
  note_gathered("MPI_Gatherv", rank == root ? sum_of(counts, comm) : 0, each_type);
  return PMPI_Gatherv(from, count, type, to, counts, offsets, each_type, root, comm);
}

extern "C" int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  if (count > kManyBytes) stall_in("MPI_Bcast");
  return PMPI_Bcast(buffer, count, type, root, comm);
}

extern "C" int MPI_Finalize() {
  stall_in("MPI_Finalize");
  write_counts();
  return PMPI_Finalize();
}

extern "C" int fsync(int fd) {
  const char* seconds = std::getenv("RUEDA_TEST_SLOW_DISK");
  if (seconds != nullptr && is_of_checkpoint(fd))
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(seconds)));
  return int(::syscall(SYS_fsync, fd));
}
