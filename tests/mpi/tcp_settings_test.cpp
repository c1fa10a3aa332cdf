#include <cstdlib>
#include <optional>
#include <string>

#include <catch2/catch.hpp>
#include <mpi.h>

#include "mpi/session/session.hpp"
#include "tests/support/mpi_check.hpp"

namespace {

constexpr const char* kVariable = "OMPI_MCA_btl_tcp_flags";

/// What MPI itself says of a setting that is a number; nothing if it has no such setting.
std::optional<int> mpi_setting(const char* name) {
  int provided = 0;
  int index = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return {};
  std::optional<int> value;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS) {
    MPI_T_cvar_handle handle{};
    int count = 0;
    unsigned bits = 0;
    MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count);
    if (MPI_T_cvar_read(handle, &bits) == MPI_SUCCESS) value = int(bits);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return value;
}

}  // namespace

TEST_CASE("the session has Open MPI send over TCP", "[tcp]") {
  // Without TCP among the transports, or with another MPI, there is no such setting.
  const auto flags = mpi_setting("btl_tcp_flags");
  CHECK_ON_ALL_RANKS(!flags || *flags == 0x1);
  const char* told = std::getenv(kVariable);
  CHECK_ON_ALL_RANKS(told != nullptr && std::string(told) == "0x1");
}

TEST_CASE("what the user says about TCP stays", "[tcp]") {
  setenv(kVariable, "0x3", 1);
  rueda::prefer_tcp_streams();
  const std::string kept = std::getenv(kVariable);
  setenv(kVariable, "0x1", 1);  // as the session left it
  CHECK_ON_ALL_RANKS(kept == "0x3");
}
