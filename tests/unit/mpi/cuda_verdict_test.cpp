#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "mpi/probes/cuda_awareness.hpp"

using Catch::Matchers::Contains;
using rueda::admits_cuda;
using rueda::Answer;
using rueda::CudaSignals;
using rueda::judge_cuda_awareness;

namespace {

CudaSignals open_mpi(Answer compiled, Answer reported, Answer parameter) {
  return {.library = "Open MPI v4.1.4, package: Open MPI",
          .compiled = compiled,
          .reported = reported,
          .parameter = parameter,
          .ucx_transports = ""};
}

CudaSignals cray(Answer reported, Answer enabled) {
  return {.library = "MPI VERSION    : CRAY MPICH version 8.1.29.2 (ANL base 3.4a2)",
          .reported = reported,
          .cray_enabled = enabled,
          .ucx_transports = ""};
}

CudaSignals mvapich(Answer compiled, Answer reported, Answer enabled) {
  return {.library = "MVAPICH2-GDR Version : 2.3.7",
          .compiled = compiled,
          .reported = reported,
          .mvapich_enabled = enabled,
          .ucx_transports = ""};
}

CudaSignals mpich(Answer reported) {
  return {.library = "MPICH Version:      4.0.2", .reported = reported, .ucx_transports = ""};
}

}  // namespace

TEST_CASE("MPI takes GPU memory or not, for a reason of one line", "[cuda_verdict]") {
  constexpr Answer yes = Answer::yes, no = Answer::no, unknown = Answer::unknown;
  const auto ucx = [](const char* transports) {
    auto signals = open_mpi(yes, yes, yes);
    signals.ucx_transports = transports;
    return signals;
  };
  struct Case {
    CudaSignals signals;
    bool aware;
    const char* words = "";
  };
  for (const Case& c :
       std::vector<Case>{// The library that runs outweighs the headers.
                         {open_mpi(yes, yes, yes), true},
                         {open_mpi(yes, yes, unknown), true},
                         {open_mpi(no, no, unknown), false},
                         {open_mpi(unknown, unknown, yes), false},
                         {open_mpi(yes, no, yes), false},
                         {open_mpi(no, yes, yes), true, "another build"},
                         // Support that is switched off is named with the switch.
                         {open_mpi(yes, yes, no), false, "OMPI_MCA_opal_cuda_support=true"},
                         {cray(yes, no), false, "MPICH_GPU_SUPPORT_ENABLED=1"},
                         {cray(yes, unknown), false, "MPICH_GPU_SUPPORT_ENABLED=1"},
                         {mvapich(yes, yes, no), false, "MV2_USE_CUDA=1"},
                         {mvapich(yes, yes, unknown), false, "MV2_USE_CUDA=1"},
                         // MPICH and its kin answer for themselves.
                         {mpich(yes), true},
                         {mpich(no), false},
                         {mpich(unknown), false},
                         {cray(yes, yes), true},
                         {cray(no, yes), false},
                         {cray(unknown, yes), false},
                         {mvapich(unknown, unknown, yes), true},
                         {mvapich(no, unknown, yes), false},
                         {mvapich(yes, no, yes), false},
                         // UCX without a transport for CUDA is refused, whatever MPI says.
                         {ucx("rc,sm,self"), false, "UCX_TLS=rc,sm,self"},
                         {ucx("rc,sm,cuda_copy,cuda_ipc"), true}}) {
    const auto verdict = judge_cuda_awareness(c.signals);
    CAPTURE(c.signals.library, verdict.why);
    CHECK(verdict.aware == c.aware);
    CHECK_THAT(verdict.why, Contains(c.words));
    CHECK_FALSE(verdict.why.empty());
    CHECK(verdict.why.find('\n') == std::string::npos);
  }
}

TEST_CASE("UCX_TLS is read as UCX reads it", "[cuda_verdict]") {
  for (const char* with : {"", "all", "cuda", "sm,cuda", "rc,gdr_copy", "^tcp", "^tcp,sm",
                           "rc:aux,cuda_ipc", "\\cuda_copy"}) {
    CAPTURE(with);
    CHECK(admits_cuda(with));
  }
  for (const char* without : {"sm", "rc,sm,self", "^cuda", "^tcp,cuda_ipc", "cudas"}) {
    CAPTURE(without);
    CHECK_FALSE(admits_cuda(without));
  }
}

TEST_CASE("an answer has a word", "[cuda_verdict]") {
  CHECK(std::string(to_string(Answer::yes)) == "yes");
  CHECK(std::string(to_string(Answer::no)) == "no");
  CHECK(std::string(to_string(Answer::unknown)) == "unknown");
}
