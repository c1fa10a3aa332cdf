#include "cuda_awareness.hpp"

#include <string_view>

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // Open MPI's extensions, MVAPICH2's too
#endif

#include "mpi/session/check.hpp"
#include "mpi/session/version.hpp"

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
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) != MPI_SUCCESS) {
    return Answer::unknown;
  }
  return answer(supported != 0);
#else
  return Answer::unknown;
#endif
}

/// A variable of which "1" means yes; an absent one is unknown.
Answer switch_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? Answer::unknown : answer(std::string_view(value) == "1");
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
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
    return Answer::unknown;
  }
  int value = 0;  // of which a bool fills a part
  const bool read = count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  return read ? answer(value != 0) : Answer::unknown;
}

Answer parameter_answer() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return Answer::unknown;
  int index = 0;
  Answer result = Answer::unknown;
  if (MPI_T_cvar_get_index(kParameter, &index) == MPI_SUCCESS && is_plain_switch(index)) {
    result = read_switch(index);
  }
  MPI_T_finalize();
  return result;
}

}  // namespace

CudaSignals read_cuda_signals(const Environment& environment) {
  const char* transports = environment("UCX_TLS");
  return {.library = mpi_library_version(),
          .compiled = compiled_answer(),
          .reported = reported_answer(),
          .parameter = parameter_answer(),
          .cray_enabled = switch_of(environment, "MPICH_GPU_SUPPORT_ENABLED"),
          .mvapich_enabled = switch_of(environment, "MV2_USE_CUDA"),
          .ucx_transports = transports == nullptr ? "" : transports};
}

}  // namespace rueda
