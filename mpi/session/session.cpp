#include "mpi/session/session.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include "base/text.hpp"
#include "mpi/session/mpi_call.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {
namespace {

struct MpiLevel {
  int level;
  const char* name;
};
/// By ThreadLevel. MPI guarantees that the levels are ordered.
constexpr std::array<MpiLevel, 4> kLevels = {{{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
                                              {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
                                              {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
                                              {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}}};

const MpiLevel& mpi_level(ThreadLevel level) { return kLevels.at(std::size_t(level)); }

/// The variable as a non-negative number; nothing if it is absent or not one.
std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  std::string_view rest = text == nullptr ? "" : text;
  const auto value = take_number<int>(rest);
  return rest.empty() && value.value_or(-1) >= 0 ? value : std::nullopt;
}

/// Launchers that know nothing of MPI, by the variables that they set.
struct ForeignLauncher {
  const char* name;
  const char* size;
  const char* rank;
};
constexpr std::array<ForeignLauncher, 2> kForeignLaunchers = {
    {{"torchrun, or a launcher like it,", "WORLD_SIZE", "RANK"},
     {"horovodrun", "HOROVOD_SIZE", "HOROVOD_RANK"}}};

[[noreturn]] void refuse(const char* launcher, const char* variable, int started, int size,
                         const std::string& remedy) {
  throw InputError(fmt::format("{} started {} process{} ({}={}), but MPI sees a world of {}: {}",
                               launcher, started, started == 1 ? "" : "es", variable, started, size,
                               remedy));
}

}  // namespace

Session::Session(ThreadLevel level, ThreadLevel needed) {
  int initialized = 0;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized != 0) throw RunError("MPI is already initialised; a process has one MPI session");
  prefer_tcp_streams();
  take_mpi_turn();
  int provided = MPI_THREAD_SINGLE;
  call_mpi("MPI_Init_thread", MPI_Init_thread, nullptr, nullptr, mpi_level(level).level, &provided);
  const auto offered = std::ranges::find(kLevels, provided, &MpiLevel::level);
  if (provided < mpi_level(needed).level) {
    MPI_Finalize();
    throw RunError(fmt::format(
        "rueda needs {}, but this MPI offers only {}; use an MPI built with thread support",
        mpi_level(needed).name, offered->name));
  }
  provided_ = static_cast<ThreadLevel>(offered - kLevels.begin());
  // Errors on it and its duplicates are return codes from now on, which do not end the job.
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
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
  if (mpi_is_active()) MPI_Abort(MPI_COMM_WORLD, int(code));
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

void check_launch(const Environment& environment, int size) {
  if (const auto started = number(environment, "OMPI_COMM_WORLD_SIZE")) {
    if (*started == size) return;
    refuse("mpirun", "OMPI_COMM_WORLD_SIZE", *started, size,
           "the mpirun and the MPI library are of different make. Use the mpirun that belongs to "
           "the library (`rueda --version` names it), or under Slurm `srun --mpi=pmix`");
  }
  if (size > 1) return;
  const int tasks = number(environment, "SLURM_NTASKS").value_or(1);
  if (tasks > 1 && number(environment, "SLURM_PROCID")) {
    refuse("Slurm", "SLURM_NTASKS", tasks, size,
           "each process would train alone. Start it with `srun --mpi=pmix` (`srun --mpi=list` "
           "shows what this Slurm offers) or with mpirun inside the allocation; for a run of one "
           "rank use `srun -n 1`");
  }
  if (const int processes = number(environment, "PMI_SIZE").value_or(1); processes > 1) {
    refuse("The launcher", "PMI_SIZE", processes, size,
           "each process would train alone. Use the mpirun that belongs to the MPI library rueda "
           "is linked with (`rueda --version` names it)");
  }
  for (const auto& [launcher, size_name, rank_name] : kForeignLaunchers) {
    const int started = number(environment, size_name).value_or(1);
    if (started < 2 || !number(environment, rank_name)) continue;
    refuse(launcher, size_name, started, size,
           fmt::format("each process would train alone. rueda's ranks are started by MPI: mpirun "
                       "-n {} rueda train ... (under Slurm srun --mpi=pmix -n {})",
                       started, started));
  }
}

int launcher_rank(const Environment& environment) {
  if (environment("TORCHELASTIC_RUN_ID") != nullptr)  // others set RANK for every shell, too
    if (const auto rank = number(environment, "RANK")) return *rank;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"})
    if (const auto rank = number(environment, name)) return *rank;
  return 0;
}

std::optional<int> launcher_local_rank(const Environment& environment) {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
        "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"})
    if (const auto rank = number(environment, name)) return rank;
  return {};
}

}  // namespace rueda
