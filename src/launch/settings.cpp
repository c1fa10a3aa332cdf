#include "launch/settings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include <unistd.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostBytes = 1'000'000;  ///< of a file
constexpr std::size_t kMostSettings = 200;     ///< of all files
constexpr std::size_t kLongest = 1'000;        ///< bytes of a value, and of a path

/// Takes the first of the words that `text` begins with; false if it is none of them.
bool take_one_of(std::string_view& text, std::span<const char* const> words) {
  for (const char* word : words)
    if (take(text, word)) return true;
  return false;
}

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlank = " \t\r\f\v";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

bool is_name(std::string_view text) {
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !text.empty() && text.find_first_not_of(kLetters) == text.npos;
}

/// The settings of a file by their variables' names: of several lines the last one holds.
std::map<std::string, FileSetting> settings_in(const SettingFile& file) {
  std::map<std::string, FileSetting> found;
  std::string text;
  try {
    text = read_whole({.path = file.path, .name = file.path.string(), .remedy = ""}, kMostBytes);
  } catch (const Error&) {
    return found;
  }
  int number = 0;
  for (const auto line : split_words<std::string_view>(text, '\n')) {
    ++number;
    const std::string_view words = trimmed(line);
    if (words.starts_with('[')) break;  // UCX: what follows is for certain processors only
    const auto equals = words.find('=');
    if (equals == words.npos || words.starts_with('#') || words.starts_with("//")) continue;
    const std::string_view own = trimmed(words.substr(0, equals));
    if (!is_name(own) || (file.prefix.empty() && !own.starts_with("UCX_"))) continue;
    const std::string name = file.prefix + std::string(own);
    const std::string value = one_line(trimmed(words.substr(equals + 1)).substr(0, kLongest));
    found[name] = {name, value, one_line(file.path.string().substr(0, kLongest)), number};
  }
  return found;
}

/// The files that a variable names in place of the usual ones.
std::vector<std::string> named_files(const Environment& environment, const std::string& prefix) {
  for (const char* name : {"mca_base_param_files", "mca_param_files"}) {
    const std::string list = variable_text(environment, (prefix + name).c_str());
    if (!list.empty()) return split_words(list);
  }
  return {};
}

/// Files of a library with Open MPI's kind of settings, `site` the folders of its system files.
void add_mca_files(std::vector<SettingFile>& files, const Environment& environment,
                   const std::string& library, const std::string& prefix,
                   const std::vector<fs::path>& site) {
  for (const fs::path& folder : site)
    files.push_back({folder / (library + "-mca-params-override.conf"), prefix, true});
  const auto named = named_files(environment, prefix);
  for (const std::string& file : named) files.push_back({file, prefix});
  if (!named.empty()) return;
  const std::string home = variable_text(environment, "HOME");
  if (!home.empty())
    files.push_back({fs::path(home) / ("." + library) / "mca-params.conf", prefix});
  for (const fs::path& folder : site)
    files.push_back({folder / (library + "-mca-params.conf"), prefix});
}

/// UCX lets the nearest file win.
void add_ucx_files(std::vector<SettingFile>& files, const Environment& environment) {
  constexpr const char* kName = "ucx.conf";
  files.push_back({kName});
  for (const char* variable : {"UCX_CONFIG_DIR", "HOME"}) {
    const std::string folder = variable_text(environment, variable);
    if (!folder.empty()) files.push_back({fs::path(folder) / kName});
  }
  files.push_back({fs::path("/etc/ucx") / kName});
}

}  // namespace

std::string FileSetting::own_text() const {
  constexpr std::array kPrefixes = {"OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"};
  std::string_view own = name;
  take_one_of(own, kPrefixes);
  return printable(std::string(own) + "=" + value);
}

std::vector<std::string> setting_variables() {
  constexpr std::array kSteer = {"OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "UCX_",  "FI_",  "MPICH_",
                                 "I_MPI_",    "OMP_",      "KMP_",      "GOMP_", "NCCL_"};
  constexpr std::array kLauncher = {"orte_",         "ess",
                                    "pmix",          "initial_wdir",
                                    "PREFIXES",      "mpi_oversubscribe",
                                    "shmem_RUNTIME", "cpu_type",
                                    "num_procs",     "mca_base_component_show_load_errors=1"};
  std::vector<std::string> found;
  for (char** one = environ; *one != nullptr; ++one) {
    std::string_view rest = *one;
    if (take_one_of(rest, kSteer) && !take_one_of(rest, kLauncher))
      found.push_back(printable(*one));
  }
  std::ranges::sort(found);
  return found;
}

std::vector<SettingFile> setting_files(const Environment& environment,
                                       const std::vector<std::string>& of_open_mpi) {
  std::vector<SettingFile> files;
  std::vector<fs::path> site;  // where Open MPI has its system files; its PRRTE and PMIx, too
  for (const std::string& name : of_open_mpi) {
    const fs::path path = name;
    const bool overrides = path.filename() == "openmpi-mca-params-override.conf";
    if (overrides) site.push_back(path.parent_path());
    files.push_back({path, "OMPI_MCA_", overrides});
  }
  std::vector<SettingFile> known;  // without asking
  add_mca_files(known, environment, "openmpi", "OMPI_MCA_", {});
  for (SettingFile& file : known) {
    if (std::ranges::count(of_open_mpi, file.path.string()) > 0) continue;
    file.handed_on = !of_open_mpi.empty();
    files.push_back(file);
  }
  add_mca_files(files, environment, "prte", "PRTE_MCA_", site);
  if (!site.empty() && site.front() != "/etc") site.emplace_back("/etc");  // PMIx of a distribution
  add_mca_files(files, environment, "pmix", "PMIX_MCA_", site);
  add_ucx_files(files, environment);
  return files;
}

std::vector<FileSetting> file_settings(const Environment& environment,
                                       const std::vector<SettingFile>& files) {
  std::set<std::string> set;
  std::vector<FileSetting> all;
  for (const SettingFile& file : files) {
    const std::size_t before = all.size();
    for (const auto& [name, setting] : settings_in(file)) {
      const char* variable = environment(name.c_str());
      const bool same = variable != nullptr && setting.value == variable;
      const bool holds = same || file.overrides || (variable == nullptr && !file.handed_on);
      if (holds && set.insert(name).second) all.push_back(setting);
    }
    std::ranges::sort(all.begin() + std::ptrdiff_t(before), all.end(), {}, &FileSetting::line);
    if (all.size() >= kMostSettings) break;
  }
  if (all.size() > kMostSettings) all.resize(kMostSettings);
  return all;
}

std::vector<std::string> texts_by_file(const std::vector<FileSetting>& settings) {
  std::vector<std::string> texts;
  std::string last;
  for (const FileSetting& one : settings) {
    if (one.file == last)
      texts.back() += ", ";
    else
      texts.push_back(one.file + ": ");
    texts.back() += one.own_text() + " (line " + std::to_string(one.line) + ")";
    last = one.file;
  }
  return texts;
}

}  // namespace rueda
