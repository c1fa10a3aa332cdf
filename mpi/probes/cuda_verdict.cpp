#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "cuda_awareness.hpp"

// The verdict alone, which needs no MPI.

namespace rueda {
namespace {

/// UCX's names for transports that reach GPU memory.
constexpr std::array<std::string_view, 4> kCudaTransports = {"cuda", "cuda_copy", "cuda_ipc",
                                                             "gdr_copy"};

bool names(const std::string& library, std::string_view word) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(library.begin(), library.end(), word.begin(), word.end(), same) !=
         library.end();
}

bool is_cuda_transport(std::string_view name) {
  if (name.starts_with('\\')) name.remove_prefix(1);  // UCX's mark for "only if asked for"
  name = name.substr(0, name.find(':'));              // behind it auxiliary options
  return std::find(kCudaTransports.begin(), kCudaTransports.end(), name) != kCudaTransports.end();
}

CudaVerdict judge_by_report(const CudaSignals& signals) {
  if (signals.reported == Answer::no) {
    return {false, "the MPI library that runs says that it does not take GPU memory"};
  }
  if (signals.reported == Answer::unknown) {
    return {false, "this MPI does not tell whether it takes GPU memory"};
  }
  if (signals.compiled == Answer::no) {
    return {true,
            "the MPI library that runs says that it takes GPU memory (another build than "
            "the one that the program was compiled with)"};
  }
  return {true, "the MPI library that runs says that it takes GPU memory"};
}

CudaVerdict judge_open_mpi(const CudaSignals& signals) {
  if (signals.reported == Answer::yes && signals.parameter == Answer::no) {
    return {false,
            "this Open MPI has support for GPU memory, but it is switched off; set "
            "OMPI_MCA_opal_cuda_support=true"};
  }
  return judge_by_report(signals);
}

CudaVerdict judge_cray(const CudaSignals& signals) {
  if (signals.cray_enabled == Answer::yes) return judge_by_report(signals);
  return {false, "Cray MPICH takes GPU memory only when told to; set MPICH_GPU_SUPPORT_ENABLED=1"};
}

CudaVerdict judge_mvapich(const CudaSignals& signals) {
  if (signals.mvapich_enabled != Answer::yes) {
    return {false, "MVAPICH2 takes GPU memory only when told to; set MV2_USE_CUDA=1"};
  }
  if (signals.reported != Answer::unknown) return judge_by_report(signals);
  return {signals.compiled != Answer::no,
          signals.compiled != Answer::no
              ? "MV2_USE_CUDA=1 tells MVAPICH2 to take GPU memory"
              : "this MVAPICH2 was built without support for GPU memory, MV2_USE_CUDA=1 or not"};
}

}  // namespace

const char* to_string(Answer answer) {
  if (answer == Answer::unknown) return "unknown";
  return answer == Answer::yes ? "yes" : "no";
}

bool admits_cuda(const std::string& ucx_transports) {
  std::string_view rest = ucx_transports;
  if (rest.empty()) return true;
  const bool all_but = rest.front() == '^';
  if (all_but) rest.remove_prefix(1);
  bool named = false;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    named = named || is_cuda_transport(name) || (!all_but && name == "all");
  }
  return named != all_but;
}

CudaVerdict judge_cuda_awareness(const CudaSignals& signals) {
  if (!admits_cuda(signals.ucx_transports)) {
    return {false, "UCX_TLS=" + signals.ucx_transports +
                       " leaves UCX no transport for GPU memory; add cuda to it, or unset it"};
  }
  if (names(signals.library, "Open MPI")) return judge_open_mpi(signals);
  if (names(signals.library, "CRAY MPICH")) return judge_cray(signals);
  if (names(signals.library, "MVAPICH")) return judge_mvapich(signals);
  return judge_by_report(signals);
}

}  // namespace rueda
