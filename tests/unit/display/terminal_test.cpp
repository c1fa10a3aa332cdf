#include <functional>
#include <string>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rueda/core/files.hpp"
#include "rueda/display/progress.hpp"

using namespace rueda;

namespace {

/// A pseudo-terminal of `columns` columns, as a terminal window or mpirun opens it.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) {
    REQUIRE(::openpty(&master_, &slave_, nullptr, nullptr, nullptr) == 0);
    resize(columns);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    ::close(slave_);
    ::close(master_);
  }
  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    REQUIRE(::ioctl(slave_, TIOCSWINSZ, &size) == 0);
  }
  std::string path() const { return ::ptsname(master_); }
  int fd() const { return slave_; }

 private:
  int master_ = -1;
  int slave_ = -1;
};

/// What `work` returns (0 ... 255) in a child process whose standard output is `fd`.
int in_child(int fd, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (fd >= 0) ::dup2(fd, STDOUT_FILENO);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The width that a process sees at its standard output `fd`, with `variable` set; 0 if that is no
/// terminal.
int seen_width(int fd, const char* variable = "NONE", const char* value = "",
               bool launched = false) {
  return in_child(fd, [=] {
    ::clearenv();
    ::setenv("TERM", "xterm", 1);
    if (launched) ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    ::setenv(variable, value, 1);
    const Terminal terminal = Terminal::behind_stdout();
    return terminal.interactive() ? terminal.width() : 0;
  });
}

/// The same in a rank whose standard output is `own`, started by a launcher that has `launchers`,
/// with a wrapper process in between.
int seen_under_mpirun(int launchers, int own, const char* variable = "NONE",
                      const char* value = "") {
  return in_child(launchers, [=] {
    return in_child(own, [=] { return seen_width(-1, variable, value, true); });
  });
}

}  // namespace

TEST_CASE("terminal: a path counts only if a terminal lies there", "[terminal]") {
  const PseudoTerminal pty(100);
  CHECK(Terminal(pty.path()).interactive());
  for (const char* path : {"/dev/null", "/nowhere/at/all", ""})
    CHECK_FALSE(Terminal(path).interactive());
  CHECK_FALSE(Terminal().interactive());
}

TEST_CASE("terminal: width follows the window and COLUMNS overrules it", "[terminal]") {
  const PseudoTerminal pty(100);
  const OpenFile none("/dev/null", O_WRONLY);
  CHECK(seen_width(none.fd()) == 0);
  CHECK(seen_width(pty.fd(), "TERM", "dumb") == 0);
  CHECK(seen_width(pty.fd()) == 100);
  pty.resize(61);
  CHECK(seen_width(pty.fd()) == 61);
  CHECK(seen_width(pty.fd(), "COLUMNS", "44") == 44);
  CHECK(seen_width(pty.fd(), "COLUMNS", "44x") == 61);
  CHECK(seen_width(pty.fd(), "COLUMNS", "-3") == 61);
  pty.resize(0);
  CHECK(seen_width(pty.fd()) == 80);
}

TEST_CASE("terminal: under mpirun the launcher's standard output decides", "[terminal]") {
  const PseudoTerminal ranks(80);
  const PseudoTerminal window(120);
  const OpenFile none("/dev/null", O_WRONLY);
  CHECK(seen_under_mpirun(none.fd(), ranks.fd()) == 0);
  CHECK(seen_under_mpirun(window.fd(), ranks.fd()) == 120);
  CHECK(seen_under_mpirun(window.fd(), none.fd()) == 0);
  // A launcher that decorates or copies its ranks' output leaves no terminal.
  for (const char* part : {"tag_output", "timestamp_output", "xml_output", "output_filename"}) {
    const std::string name = std::string("OMPI_MCA_orte_") + part;
    CHECK(seen_under_mpirun(window.fd(), ranks.fd(), name.c_str(), "1") == 0);
    CHECK(seen_under_mpirun(window.fd(), ranks.fd(), name.c_str(), "0") == 120);
  }
}

TEST_CASE("terminal: --progress words", "[terminal]") {
  const PseudoTerminal pty(100);
  const Terminal window(pty.path());
  using enum ProgressChoice;
  CHECK(progress_mode(automatic, window) == bar);
  CHECK(progress_mode(automatic, Terminal()) == lines);
  for (const ProgressChoice word : {bar, lines, off}) {
    CHECK(progress_mode(word, window) == word);
    CHECK(progress_mode(word, Terminal()) == word);
  }
}
