#include "mpi/probes/cuda_awareness.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // Open MPI's extensions, MVAPICH2's too
#endif

#include "launch/settings.hpp"

namespace rueda {
namespace {

constexpr const char* kParameter = "opal_cuda_support";

Answer answer(bool yes) { return yes ? Answer::yes : Answer::no; }

Answer compiled_answer() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return answer(MPIX_CUDA_AWARE_SUPPORT != 0);
#else
  return Answer::unknown;
#endif
}

Answer reported_answer() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return answer(MPIX_Query_cuda_support() != 0);
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int supported = 0;
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) != MPI_SUCCESS)
    return Answer::unknown;
  return answer(supported != 0);
#else
  return Answer::unknown;
#endif
}

/// A variable of which "1" means yes; an absent one is unknown.
Answer switch_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  if (value == nullptr) return Answer::unknown;
  return answer(std::string_view(value) == "1");
}

/// Whether the control variable is a truth value or a whole number, and belongs to no MPI object.
bool is_plain_switch(int index) {
  int name_length = 0, description_length = 0, verbosity = 0, binding = 0, scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum names{};
  return MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type, &names, nullptr,
                             &description_length, &binding, &scope) == MPI_SUCCESS &&
         (type == MPI_C_BOOL || type == MPI_INT) && binding == MPI_T_BIND_NO_OBJECT;
}

Answer read_switch(int index) {
  MPI_T_cvar_handle handle{};
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS)
    return Answer::unknown;
  int value = 0;  // of which a bool fills a part
  const bool read = count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  if (!read) return Answer::unknown;
  return answer(value != 0);
}

Answer parameter_answer() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return Answer::unknown;
  int index = 0;
  Answer result = Answer::unknown;
  if (MPI_T_cvar_get_index(kParameter, &index) == MPI_SUCCESS && is_plain_switch(index))
    result = read_switch(index);
  MPI_T_finalize();
  return result;
}

/// UCX's names for transports that reach GPU memory.
constexpr std::array<std::string_view, 4> kCudaTransports = {"cuda", "cuda_copy", "cuda_ipc",
                                                             "gdr_copy"};

/// Whether the library is the one of this name, in upper or lower case.
bool names(const std::string& library, const std::string& word) {
  return lowered(library).find(lowered(word)) != std::string::npos;
}

bool is_cuda_transport(std::string_view name) {
  take(name, "\\");                       // UCX's mark for "only if asked for"
  name = name.substr(0, name.find(':'));  // auxiliary options follow it
  return std::ranges::find(kCudaTransports, name) != kCudaTransports.end();
}

CudaVerdict judge_by_report(const CudaSignals& signals) {
  if (signals.reported == Answer::unknown)
    return {false, "this MPI does not say whether it takes GPU memory"};
  const std::string says = "the MPI library that runs says that it ";
  if (signals.reported == Answer::no) return {false, says + "does not take GPU memory"};
  if (signals.compiled != Answer::no) return {true, says + "takes GPU memory"};
  return {true, says +
                    "takes GPU memory (another build than the one that the program was compiled "
                    "with)"};
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
  return {false, "Cray MPICH takes GPU memory only on request; set MPICH_GPU_SUPPORT_ENABLED=1"};
}

CudaVerdict judge_mvapich(const CudaSignals& signals) {
  if (signals.mvapich_enabled != Answer::yes)
    return {false, "MVAPICH2 takes GPU memory only on request; set MV2_USE_CUDA=1"};
  if (signals.reported != Answer::unknown) return judge_by_report(signals);
  if (signals.compiled != Answer::no)
    return {true, "MV2_USE_CUDA=1 makes MVAPICH2 take GPU memory"};
  return {false, "this MVAPICH2 was built without support for GPU memory, MV2_USE_CUDA=1 or not"};
}

/// UCX_TLS of the environment, else of a file.
FileSetting ucx_tls(const Environment& environment) {
  if (const char* value = environment("UCX_TLS")) return {"UCX_TLS", value, "", 0};
  for (const FileSetting& one : file_settings(environment, setting_files(environment)))
    if (one.name == "UCX_TLS") return one;
  return {};
}

}  // namespace

CudaSignals read_cuda_signals(const Environment& environment) {
  const FileSetting ucx = ucx_tls(environment);
  std::string place;
  if (!ucx.file.empty()) place = fmt::format(" (line {} of {})", ucx.line, ucx.file);
  return {.library = mpi_library_version(),
          .compiled = compiled_answer(),
          .reported = reported_answer(),
          .parameter = parameter_answer(),
          .cray_enabled = switch_of(environment, "MPICH_GPU_SUPPORT_ENABLED"),
          .mvapich_enabled = switch_of(environment, "MV2_USE_CUDA"),
          .ucx_transports = ucx.value,
          .ucx_place = place};
}

bool admits_cuda(const std::string& ucx_transports) {
  std::string_view names = ucx_transports;
  const bool all_but = take(names, "^");
  if (ucx_transports.empty()) return true;
  for (const std::string& name : split_words(names))
    if (is_cuda_transport(name) || (!all_but && name == "all")) return !all_but;
  return all_but;
}

CudaVerdict judge_cuda_awareness(const CudaSignals& signals) {
  if (!admits_cuda(signals.ucx_transports)) {
    return {false, "UCX_TLS=" + signals.ucx_transports + signals.ucx_place +
                       " leaves UCX no transport for GPU memory; add cuda to it, or unset it"};
  }
  if (names(signals.library, "Open MPI")) return judge_open_mpi(signals);
  if (names(signals.library, "CRAY MPICH")) return judge_cray(signals);
  if (names(signals.library, "MVAPICH")) return judge_mvapich(signals);
  return judge_by_report(signals);
}

}  // namespace rueda
