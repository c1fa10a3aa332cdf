#include <string>

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

TEST_CASE("Open MPI is CUDA-aware if the library that runs says so", "[cuda_verdict]") {
  CHECK(judge_cuda_awareness(open_mpi(Answer::yes, Answer::yes, Answer::yes)).aware);
  CHECK(judge_cuda_awareness(open_mpi(Answer::yes, Answer::yes, Answer::unknown)).aware);
  CHECK_FALSE(judge_cuda_awareness(open_mpi(Answer::no, Answer::no, Answer::unknown)).aware);
  CHECK_FALSE(judge_cuda_awareness(open_mpi(Answer::unknown, Answer::unknown, Answer::yes)).aware);
}

TEST_CASE("the library that runs outweighs the headers", "[cuda_verdict]") {
  CHECK_FALSE(judge_cuda_awareness(open_mpi(Answer::yes, Answer::no, Answer::yes)).aware);
  const auto other_build = judge_cuda_awareness(open_mpi(Answer::no, Answer::yes, Answer::yes));
  CHECK(other_build.aware);
  CHECK_THAT(other_build.why, Contains("another build"));
}

TEST_CASE("support that is switched off is named with the switch", "[cuda_verdict]") {
  const auto open = judge_cuda_awareness(open_mpi(Answer::yes, Answer::yes, Answer::no));
  CHECK_FALSE(open.aware);
  CHECK_THAT(open.why, Contains("OMPI_MCA_opal_cuda_support=true"));
  for (const Answer off : {Answer::no, Answer::unknown}) {
    const auto from_cray = judge_cuda_awareness(cray(Answer::yes, off));
    CHECK_FALSE(from_cray.aware);
    CHECK_THAT(from_cray.why, Contains("MPICH_GPU_SUPPORT_ENABLED=1"));
    const auto from_mvapich = judge_cuda_awareness(mvapich(Answer::yes, Answer::yes, off));
    CHECK_FALSE(from_mvapich.aware);
    CHECK_THAT(from_mvapich.why, Contains("MV2_USE_CUDA=1"));
  }
}

TEST_CASE("MPICH and its kin answer for themselves", "[cuda_verdict]") {
  CHECK(judge_cuda_awareness(mpich(Answer::yes)).aware);
  CHECK_FALSE(judge_cuda_awareness(mpich(Answer::no)).aware);
  CHECK_FALSE(judge_cuda_awareness(mpich(Answer::unknown)).aware);
  CHECK(judge_cuda_awareness(cray(Answer::yes, Answer::yes)).aware);
  CHECK_FALSE(judge_cuda_awareness(cray(Answer::no, Answer::yes)).aware);
  CHECK(judge_cuda_awareness(mvapich(Answer::unknown, Answer::unknown, Answer::yes)).aware);
  CHECK_FALSE(judge_cuda_awareness(mvapich(Answer::no, Answer::unknown, Answer::yes)).aware);
  CHECK_FALSE(judge_cuda_awareness(mvapich(Answer::yes, Answer::no, Answer::yes)).aware);
}

TEST_CASE("UCX without a transport for CUDA is refused, whatever MPI says", "[cuda_verdict]") {
  auto signals = open_mpi(Answer::yes, Answer::yes, Answer::yes);
  signals.ucx_transports = "rc,sm,self";
  const auto verdict = judge_cuda_awareness(signals);
  CHECK_FALSE(verdict.aware);
  CHECK_THAT(verdict.why, Contains("UCX_TLS=rc,sm,self"));
  signals.ucx_transports = "rc,sm,cuda_copy,cuda_ipc";
  CHECK(judge_cuda_awareness(signals).aware);
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

TEST_CASE("every verdict gives its reason in one line", "[cuda_verdict]") {
  for (const Answer reported : {Answer::unknown, Answer::no, Answer::yes}) {
    for (const auto& signals :
         {open_mpi(Answer::no, reported, Answer::yes), mpich(reported), cray(reported, Answer::yes),
          mvapich(Answer::no, reported, Answer::yes)}) {
      const std::string why = judge_cuda_awareness(signals).why;
      CHECK_FALSE(why.empty());
      CHECK(why.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("an answer has a word", "[cuda_verdict]") {
  CHECK(std::string(to_string(Answer::yes)) == "yes");
  CHECK(std::string(to_string(Answer::no)) == "no");
  CHECK(std::string(to_string(Answer::unknown)) == "unknown");
}
