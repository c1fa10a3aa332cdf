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
#include "launch/settings.hpp"
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

/// A variable would override the user's file.
void set_where_nobody_has(const char* name, const char* value) {
  const auto set = file_settings(environment_variable, setting_files(environment_variable));
  if (std::ranges::count(set, name, &FileSetting::name) == 0) setenv(name, value, 0);
}

/// MPI_Init ends the process by itself: advice has to come before it.
void tell_of_missing_pmix() {
  const std::string advice = missing_pmix(environment_variable);
  if (advice.empty() || !speaks_for_all()) return;
  if (mpi_library_version().starts_with("Open MPI v4"))
    fmt::print(stderr, "warning: {}\n", one_line(advice));  // nothing is logged yet
}

}  // namespace

Session::Session(ThreadLevel level, ThreadLevel needed) {
  int initialized = 0;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized != 0) throw RunError("MPI is already initialised; a process has one MPI session");
  prefer_tcp_streams();
  leave_ucx_out_of_windows();
  tell_of_missing_pmix();
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

void prefer_tcp_streams() { set_where_nobody_has("OMPI_MCA_btl_tcp_flags", "0x1"); }

void leave_ucx_out_of_windows() { set_where_nobody_has("OMPI_MCA_osc", "^ucx"); }

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string all(text.data());  // Open MPI counts the terminating zero as a character
  return all.substr(0, all.find_first_of("\r\n"));
}

}  // namespace rueda
