#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <ostream>

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"

namespace rueda {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kDefaultHeight = 24;
constexpr int kOpenTerminal = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return "";
  return value;
}

bool is_set(const char* name) {
  const std::string value = environment(name);
  return !value.empty() && value != "0" && value != "false";
}

/// With one of these the launcher changes the output of its ranks.
constexpr std::array kOutputSettings = {
    "OMPI_MCA_orte_tag_output", "OMPI_MCA_orte_timestamp_output", "OMPI_MCA_orte_xml_output",
    "OMPI_MCA_orte_output_filename"};

/// Zeros where it is not known.
winsize size_of(const std::string& terminal) {
  const OpenFile file(terminal, kOpenTerminal);
  winsize size{};
  if (file.fd() < 0 || ::ioctl(file.fd(), TIOCGWINSZ, &size) != 0) return {};
  return size;
}

std::string stdout_of(const std::string& process) { return "/proc/" + process + "/fd/1"; }

/// The process that started `process`; empty where /proc does not say.
std::string parent_of(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  std::string word, rest;
  while (status >> word && word != "PPid:") std::getline(status, rest);
  word.clear();
  status >> word;
  return word;
}

/// Standard output of the nearest ancestor that has another one than this
/// process; wrapper scripts between the launcher and this process are passed
/// by. Empty if there is none.
std::string launcher_stdout() {
  struct stat own {};
  if (::fstat(STDOUT_FILENO, &own) != 0) return "";
  for (std::string p = parent_of("self"); !p.empty() && p != "0"; p = parent_of(p)) {
    struct stat theirs {};
    if (::stat(stdout_of(p).c_str(), &theirs) != 0) return "";
    if (own.st_dev != theirs.st_dev || own.st_ino != theirs.st_ino) return stdout_of(p);
  }
  return "";
}

constexpr double kRedrawSeconds = 0.1;
constexpr std::size_t kWidestBar = 30;
constexpr std::size_t kNarrowestBar = 6;

/// [=====>    ] with `inner` characters between the brackets.
std::string bar_text(std::size_t step, std::size_t steps, std::size_t inner) {
  std::size_t filled = 0;
  if (steps > 0) filled = std::min(inner, inner * step / steps);
  std::string bar(filled, '=');
  if (filled < inner) bar += '>';
  return fmt::format("[{:<{}}]", bar, inner);
}

/// What follows the bar, in the order of importance.
Texts details(const Progress& p) {
  const std::string steps = std::to_string(p.steps);
  std::string what;
  if (p.evaluates) what = "evaluating ";
  Texts all = {fmt::format("{}{:>{}}/{}", what, p.step, steps.size(), steps)};
  if (!std::isnan(p.loss)) all.push_back("loss: " + metric_text(p.loss));  // a timed run has none
  if (p.step == 0 || !(p.seconds > 0)) return all;
  if (!p.evaluates) all.push_back(rate_text(double(p.images) / p.seconds) + " images/s");
  if (!p.slowest.empty()) all.push_back("slow: " + p.slowest);
  if (!std::isnan(p.left)) all.push_back(clock_text(p.left) + " left");
  return all;
}

std::string score(const Score& s) {
  // A loss may become NaN in computing, an accuracy cannot.
  if (std::isnan(s.accuracy)) return "timed, nothing computed";
  return fmt::format("loss: {} - accuracy: {}", metric_text(s.loss), metric_text(s.accuracy));
}

}  // namespace

Terminal::Terminal(const std::string& path) {
  const OpenFile file(path, kOpenTerminal);
  if (file.fd() >= 0 && ::isatty(file.fd()) == 1) path_ = path;
}

Terminal Terminal::of_stdout() {
  if (::isatty(STDOUT_FILENO) != 1 || environment("TERM") == "dumb") return {};
  if (!is_set("OMPI_COMM_WORLD_SIZE")) return Terminal(stdout_of("self"));
  if (std::ranges::any_of(kOutputSettings, is_set)) return {};
  return Terminal(launcher_stdout());
}

int Terminal::width() const {
  const std::string text = environment("COLUMNS");
  std::string_view rest = text;
  const int wanted = take_number<int>(rest).value_or(0);
  if (rest.empty() && wanted > 0) return wanted;
  const winsize size = size_of(path_);
  return size.ws_col > 0 ? size.ws_col : kDefaultWidth;
}

int Terminal::height() const {
  const winsize size = size_of(path_);
  return size.ws_row > 0 ? size.ws_row : kDefaultHeight;
}

bool Terminal::has_colours() {
  if (!environment("NO_COLOR").empty()) return false;
  return !environment("COLORTERM").empty() ||
         environment("TERM").find("256color") != std::string::npos;
}

ProgressChoice progress_mode(ProgressChoice wanted, const Terminal& terminal) {
  if (wanted != ProgressChoice::automatic) return wanted;
  return terminal.interactive() ? ProgressChoice::bar : ProgressChoice::lines;
}

std::string progress_text(const Progress& p, int columns) {
  const auto room = std::size_t(std::max(columns, 0));
  std::string head;  // none for `rueda evaluate`, which has no epochs
  if (p.epochs > 0) head = fmt::format("Epoch {}/{} ", p.epoch, p.epochs);
  constexpr std::size_t kFrame = 3;  // the bar's, and a blank
  Texts parts = details(p);
  std::string tail;
  std::size_t fixed = 0;
  for (;; parts.pop_back()) {
    tail = fmt::format("{}", fmt::join(parts, " - "));
    fixed = head.size() + kFrame + tail.size();
    if (parts.size() == 1 || fixed + kNarrowestBar <= room) break;
  }
  if (fixed + kNarrowestBar > room) return (head + tail).substr(0, room);
  const std::size_t inner = std::min(kWidestBar, room - fixed);
  return head + bar_text(p.step, p.steps, inner) + " " + tail;
}

ProgressBar::ProgressBar(std::ostream& out, const Terminal& terminal, ProgressChoice mode)
    : out_(out), terminal_(terminal), drawing_(mode == ProgressChoice::bar) {}

ProgressBar::~ProgressBar() {
  try {
    clear();
  } catch (...) {
    // A destructor does not throw; the bar is only for the eye.
  }
}

bool ProgressBar::due(const Progress& p) const noexcept {
  return p.step == p.steps || p.epoch != last_epoch_ || p.seconds < last_seconds_ ||
         p.seconds - last_seconds_ >= kRedrawSeconds;
}

void ProgressBar::update(const Progress& p) {
  if (!drawing_ || !due(p)) return;
  last_epoch_ = p.epoch;
  last_seconds_ = p.seconds;
  // The last column stays free: a character there makes some terminals wrap.
  const int columns = std::max(terminal_.width() - 1, 0);
  const std::string text = progress_text(p, columns);
  // A window made narrower must not wrap either.
  const std::size_t before = std::min(shown_, std::size_t(columns));
  const std::size_t leftover = std::max(before, text.size()) - text.size();
  out_ << '\r' << text << std::string(leftover, ' ') << std::flush;
  shown_ = text.size();
}

void ProgressBar::clear() {
  if (shown_ == 0) return;
  out_ << '\r' << std::string(shown_, ' ') << '\r' << std::flush;
  shown_ = 0;
}

std::string epoch_line(const EpochRecord& e, std::size_t epochs, std::size_t ranks) {
  const double step_seconds = e.seconds / double(e.steps);
  std::string line =
      fmt::format("Epoch {}/{} - {}/{} - {} s - {} s/step - {} - {} images/s", e.epoch, epochs,
                  e.steps, e.steps, seconds_text(e.seconds), seconds_text(step_seconds),
                  score(e.train), rate_text(e.images_per_second));
  if (ranks > 1)
    line += fmt::format(" ({} per rank)", rate_text(e.images_per_second / double(ranks)));
  if (e.test)
    line += fmt::format(" - val_loss: {} - val_accuracy: {}", metric_text(e.test->loss),
                        metric_text(e.test->accuracy));
  return line;
}

}  // namespace rueda
