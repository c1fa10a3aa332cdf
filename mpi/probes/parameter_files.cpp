#include "mpi/probes/parameter_files.hpp"

#include <mpi.h>

#include "base/text.hpp"

namespace rueda {
namespace {

/// The value of a control variable that is a text; empty if there is none.
std::string text_variable(const char* name) {
  int index = 0, name_length = 0, description_length = 0, verbosity = 0, binding = 0, scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum names{};
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
      MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type, &names, nullptr,
                          &description_length, &binding, &scope) != MPI_SUCCESS ||
      type != MPI_CHAR || binding != MPI_T_BIND_NO_OBJECT)
    return "";
  MPI_T_cvar_handle handle{};
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return "";
  std::string text(std::size_t(count) + 1, '\0');
  const bool read = MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  if (!read) return "";
  return text.substr(0, text.find('\0'));
}

}  // namespace

std::vector<std::string> open_mpi_parameter_files() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return {};
  std::vector<std::string> files;
  for (const char* name : {"mca_base_override_param_file", "mca_base_param_files"})
    for (std::string& file : split_words(text_variable(name)))
      if (!file.empty()) files.push_back(std::move(file));
  MPI_T_finalize();
  return files;
}

}  // namespace rueda
