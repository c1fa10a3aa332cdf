#include "mpi/probes/cuda_awareness.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include <dlfcn.h>
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

/// A setting of UCX in the environment, else in a file.
FileSetting ucx_setting(const Environment& environment, const char* name) {
  if (const char* value = environment(name)) return {name, value, "", 0};
  for (const FileSetting& one : file_settings(environment, setting_files(environment)))
    if (one.name == name) return one;
  return {};
}

/// UCX before 1.13 keeps a table of GPU memory by watching calls of the CUDA runtime's shared
/// library (openucx/ucx#3210, mended by #7865). This program brings the runtime with it, so the
/// table stays empty, and UCX reads GPU memory as if it were the host's.
bool misses_gpu_memory(const CudaSignals& signals) {
  constexpr std::array kOff = {"n", "no", "off", "0"};
  const UcxVersion& ucx = signals.ucx;
  if (ucx.major == 0 || std::tie(ucx.major, ucx.minor) >= std::tuple(1U, 13U)) return false;
  return std::ranges::count(kOff, lowered(signals.ucx_memory_cache)) == 0;
}

CudaVerdict judge_by_library(const CudaSignals& signals) {
  if (names(signals.library, "Open MPI")) return judge_open_mpi(signals);
  if (names(signals.library, "CRAY MPICH")) return judge_cray(signals);
  if (names(signals.library, "MVAPICH")) return judge_mvapich(signals);
  return judge_by_report(signals);
}

}  // namespace

UcxVersion loaded_ucx_version() {
  UcxVersion version;
  void* const library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return version;
  using GetVersion = void (*)(unsigned*, unsigned*, unsigned*);
  const auto get = reinterpret_cast<GetVersion>(dlsym(library, "ucp_get_version"));
  if (get != nullptr) get(&version.major, &version.minor, &version.release);
  dlclose(library);
  return version;
}

CudaSignals read_cuda_signals(const Environment& environment) {
  const FileSetting ucx = ucx_setting(environment, "UCX_TLS");
  std::string place;
  if (!ucx.file.empty()) place = fmt::format(" (line {} of {})", ucx.line, ucx.file);
  return {.library = mpi_library_version(),
          .compiled = compiled_answer(),
          .reported = reported_answer(),
          .parameter = parameter_answer(),
          .cray_enabled = switch_of(environment, "MPICH_GPU_SUPPORT_ENABLED"),
          .mvapich_enabled = switch_of(environment, "MV2_USE_CUDA"),
          .ucx_transports = ucx.value,
          .ucx_place = place,
          .ucx = loaded_ucx_version(),
          .ucx_memory_cache = ucx_setting(environment, "UCX_MEMTYPE_CACHE").value};
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
  const CudaVerdict verdict = judge_by_library(signals);
  if (!verdict.aware || !misses_gpu_memory(signals)) return verdict;
  return {
      .why = fmt::format("UCX {}.{}.{} may take GPU memory for the host's and crash, for before "
                         "1.13 it overlooks a program with a CUDA runtime of its own; export "
                         "UCX_MEMTYPE_CACHE=n",
                         signals.ucx.major, signals.ucx.minor, signals.ucx.release),
      .may_crash = true};
}

}  // namespace rueda
