#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/launcher.hpp"

// Settings of MPI, UCX and OpenMP that somebody made, and where: in a variable,
// or in a file that the library reads.

namespace rueda {

/// Variables that steer these libraries and threads, as NAME=VALUE in the order
/// of the alphabet, printable. Not those in which a launcher tells its processes
/// who they are.
std::vector<std::string> setting_variables();

/// A setting in a file.
struct FileSetting {
  std::string name;   ///< of the variable that sets the same, for example OMPI_MCA_pml
  std::string value;  ///< one harmless line
  std::string file;
  int line = 0;  ///< of the file, from 1

  /// "pml=ucx": as the file has it, printable.
  std::string own_text() const;
};

/// A file from which a library takes settings.
struct SettingFile {
  std::filesystem::path path;
  std::string prefix{};    ///< what the variable's name has before the one in the file
  bool overrides = false;  ///< it holds against variables
  /// Another process has read it, and hands what it says on as variables.
  bool handed_on = false;
};

/// The files of Open MPI, PRRTE, PMIx and UCX, each library's in the order in
/// which they hold. `of_open_mpi`: as Open MPI itself names its own
/// (open_mpi_parameter_files). If it was not asked: those that its variables
/// name, or the user's alone, because the site's lies where it was installed.
std::vector<SettingFile> setting_files(const Environment& environment,
                                       const std::vector<std::string>& of_open_mpi = {});

/// What these files set and nothing else overrides, in their order. A variable
/// of the same value stays beside it: the mpirun of Open MPI 5 reads the user's
/// file for its ranks, which get variables and do not read it. Reads regular files of at most a
/// megabyte, and ignores all others, as the libraries do with files that are missing.
std::vector<FileSetting> file_settings(const Environment& environment,
                                       const std::vector<SettingFile>& files);

/// "FILE: pml=ucx (line 1), btl=self,tcp (line 2)" of each file that sets something.
std::vector<std::string> texts_by_file(const std::vector<FileSetting>& settings);

}  // namespace rueda
