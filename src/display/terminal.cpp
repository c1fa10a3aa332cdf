#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/display/progress.hpp"

namespace rueda {
namespace {

constexpr int kDefaultWidth = 80;

constexpr int kOpenTerminal = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_set(const char* name) {
  const std::string value = environment(name);
  return !value.empty() && value != "0" && value != "false";
}

bool launcher_changes_output() {
  constexpr std::array kSettings = {"OMPI_MCA_orte_tag_output", "OMPI_MCA_orte_timestamp_output",
                                    "OMPI_MCA_orte_xml_output", "OMPI_MCA_orte_output_filename"};
  return std::any_of(kSettings.begin(), kSettings.end(), is_set);
}

std::string stdout_of(const std::string& process) { return "/proc/" + process + "/fd/1"; }

/// The process that started `process`; empty where /proc does not say.
std::string parent_of(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  const std::string_view key = "PPid:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Standard output of the nearest ancestor that has another one than this process; wrapper scripts
/// between the launcher and this process are passed by. Empty if there is none.
std::string launcher_stdout() {
  struct stat own {};
  if (::fstat(STDOUT_FILENO, &own) != 0) return "";
  for (std::string p = parent_of("self"); !p.empty() && p != "0"; p = parent_of(p)) {
    struct stat theirs {};
    if (::stat(stdout_of(p).c_str(), &theirs) != 0) return "";
    if (!same_file(own, theirs)) return stdout_of(p);
  }
  return "";
}

std::optional<int> columns_variable() {
  const std::string text = environment("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error != std::errc{} || end != text.data() + text.size() || columns < 1) return std::nullopt;
  return columns;
}

int terminal_columns(const std::string& path) {
  const OpenFile file(path, kOpenTerminal);
  winsize size{};
  if (file.fd() < 0 || ::ioctl(file.fd(), TIOCGWINSZ, &size) != 0) return kDefaultWidth;
  return size.ws_col == 0 ? kDefaultWidth : size.ws_col;
}

}  // namespace

Terminal::Terminal(const std::string& path) {
  const OpenFile file(path, kOpenTerminal);
  if (file.fd() >= 0 && ::isatty(file.fd()) == 1) path_ = path;
}

Terminal Terminal::behind_stdout() {
  if (::isatty(STDOUT_FILENO) != 1 || environment("TERM") == "dumb") return {};
  if (!is_set("OMPI_COMM_WORLD_SIZE")) return Terminal(stdout_of("self"));
  return launcher_changes_output() ? Terminal{} : Terminal(launcher_stdout());
}

int Terminal::width() const {
  if (const std::optional<int> wanted = columns_variable()) return *wanted;
  return interactive() ? terminal_columns(path_) : kDefaultWidth;
}

ProgressMode progress_mode(const std::string& word, const Terminal& terminal) {
  if (word == "auto") return terminal.interactive() ? ProgressMode::bar : ProgressMode::lines;
  if (word == "bar") return ProgressMode::bar;
  if (word == "lines") return ProgressMode::lines;
  if (word == "off") return ProgressMode::off;
  throw InputError("--progress " + word + ": choose auto, bar, lines or off");
}

}  // namespace rueda
