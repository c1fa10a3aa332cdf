#include "session.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include <mpi.h>

#include "check.hpp"
#include "mpi_turn.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {
namespace {

constexpr std::array<int, 4> kMpiLevels = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                           MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
constexpr std::array<const char*, 4> kLevelNames = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                                    "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

std::string name_of_mpi_level(int level) {
  for (std::size_t i = 0; i < kMpiLevels.size(); ++i) {
    if (kMpiLevels[i] == level) return kLevelNames[i];
  }
  return "thread level " + std::to_string(level);
}

void refuse_second_initialisation() {
  int initialized = 0;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized != 0) throw RunError("MPI is already initialised; a process has one MPI session");
}

}  // namespace

Session::Session(ThreadLevel level, ThreadLevel needed) {
  refuse_second_initialisation();
  prefer_tcp_streams();
  const auto mpi_level = [](ThreadLevel l) { return kMpiLevels.at(static_cast<std::size_t>(l)); };
  const int required = mpi_level(needed);
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, mpi_level(level), &provided), "MPI_Init_thread");
  if (provided < required) {  // MPI guarantees that the levels are ordered
    MPI_Finalize();
    throw RunError("rueda needs " + name_of_mpi_level(required) + ", but this MPI offers only " +
                   name_of_mpi_level(provided) + "; use an MPI built with thread support");
  }
  const auto level_at = std::find(kMpiLevels.begin(), kMpiLevels.end(), provided);
  provided_ = static_cast<ThreadLevel>(level_at - kMpiLevels.begin());
  return_errors(MPI_COMM_WORLD);
  take_mpi_turn();
}

Session::~Session() {
  if (!mpi_is_active()) return;
  std::optional<MpiCall> call;  // for a watchdog: a rank that never gets here makes the others wait
  try {
    call.emplace("MPI_Finalize");
  } catch (const std::exception&) {
    // Another thread has the turn; MPI has to end all the same.
  }
  if (MPI_Finalize() != MPI_SUCCESS) std::fputs("warning: MPI_Finalize failed\n", stderr);
}

void Session::abort(ExitCode code) noexcept {
  std::fflush(nullptr);
  if (mpi_is_active()) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  end_process("", code);
}

void prefer_tcp_streams() { setenv("OMPI_MCA_btl_tcp_flags", "0x1", 0); }

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string all(text.data());  // Open MPI counts the terminating zero as a character
  return all.substr(0, all.find_first_of("\r\n"));
}

}  // namespace rueda
