#include "mpi/probes/cuda_awareness.hpp"

#include "mpi/session/session.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

const char* no_variable(const char*) { return nullptr; }

const char* some_variables(const char* name) {
  const std::string asked = name;
  if (asked == "MPICH_GPU_SUPPORT_ENABLED") return "1";
  if (asked == "MV2_USE_CUDA") return "0";
  return asked == "UCX_TLS" ? "rc,sm" : nullptr;
}

}  // namespace

TEST_CASE("MPI can be asked about GPU memory, more than once", "[cuda_awareness]") {
  const auto once = read_cuda_signals(no_variable);
  const auto again = read_cuda_signals(no_variable);
  CHECK_ON_ALL_RANKS(once.library == mpi_library_version());
  CHECK_ON_ALL_RANKS(once.compiled == again.compiled);
  CHECK_ON_ALL_RANKS(once.reported == again.reported);
  CHECK_ON_ALL_RANKS(once.parameter == again.parameter);
  CHECK_ON_ALL_RANKS(once.cray_enabled == Answer::unknown);
  CHECK_ON_ALL_RANKS(once.mvapich_enabled == Answer::unknown);
  CHECK_ON_ALL_RANKS(once.ucx_transports.empty());
  // Open MPI answers by macro, query and parameter.
  const bool open_mpi = contains(once.library, "Open MPI");
  CHECK_ON_ALL_RANKS(!open_mpi || once.compiled != Answer::unknown);
  CHECK_ON_ALL_RANKS(!open_mpi || once.reported != Answer::unknown);
  CHECK_ON_ALL_RANKS(!contains(once.library, "Open MPI v4") || once.parameter != Answer::unknown);
}

TEST_CASE("the environment's part is read", "[cuda_awareness]") {
  const auto signals = read_cuda_signals(some_variables);
  CHECK_ON_ALL_RANKS(signals.cray_enabled == Answer::yes);
  CHECK_ON_ALL_RANKS(signals.mvapich_enabled == Answer::no);
  CHECK_ON_ALL_RANKS(signals.ucx_transports == "rc,sm");
}
