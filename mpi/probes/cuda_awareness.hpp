#pragma once

#include <array>
#include <string>

#include "base/text.hpp"
#include "launch/launcher.hpp"
#include "mpi/session/session.hpp"

namespace rueda {

/// What a source of information said; unknown where it could not be asked.
enum class Answer { unknown, no, yes };

constexpr auto words_of(Answer) { return std::array{"unknown", "no", "yes"}; }

/// A version of UCX; 0.0.0: none is loaded.
struct UcxVersion {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
};

/// Of the libucp.so.0 that this process has loaded, as MPI does when it starts.
UcxVersion loaded_ucx_version();

/// What this program, its MPI library and the environment say about pointers to
/// GPU memory. None of these is a proof: that is a transfer that arrives.
struct CudaSignals {
  std::string library;  ///< as mpi_library_version(): decides which of the others count
  /// The headers that the program was built with (Open MPI's macro
  /// MPIX_CUDA_AWARE_SUPPORT). The library that runs may be another build of
  /// the same ABI.
  Answer compiled = Answer::unknown;
  /// The library that runs: MPIX_Query_cuda_support, or MPICH's MPIX_GPU_query_support.
  Answer reported = Answer::unknown;
  /// Open MPI's parameter opal_cuda_support, by which support that is built in may be off.
  Answer parameter = Answer::unknown;
  /// Cray MPICH takes GPU memory only with MPICH_GPU_SUPPORT_ENABLED=1.
  Answer cray_enabled = Answer::unknown;
  /// MVAPICH2 takes GPU memory only with MV2_USE_CUDA=1.
  Answer mvapich_enabled = Answer::unknown;
  /// UCX_TLS of the environment or a ucx.conf: the transports that UCX is restricted to; empty if
  /// it is not set.
  std::string ucx_transports;
  std::string ucx_place{};  ///< " (line 2 of FILE)" where it comes from one
  UcxVersion ucx{};
  /// UCX_MEMTYPE_CACHE, from either: "n" makes UCX ask the driver of what kind a memory is.
  std::string ucx_memory_cache{};
};

/// Whether MPI is to be handed pointers to GPU memory, and why: one sentence
/// for a person, which ends in the line to change where the answer is no and a
/// setting is the cause.
struct CudaVerdict {
  bool aware = false;
  std::string why;
  /// GPU memory may crash the run although MPI says that it takes it.
  bool may_crash = false;
};

/// Draws the verdict, without asking anybody. In doubt it is no: a wrong no
/// costs time, a wrong yes the run. Where headers and library contradict each
/// other the library wins, since it is the one that receives the pointers.
CudaVerdict judge_cuda_awareness(const CudaSignals& signals);

/// Whether a value of UCX_TLS admits CUDA memory; "all" and an empty one do.
bool admits_cuda(const std::string& ucx_transports);

/// Asks all sources; between the initialisation of MPI and its end. Sources
/// that this MPI does not have stay unknown.
CudaSignals read_cuda_signals(const Environment& environment);

}  // namespace rueda
