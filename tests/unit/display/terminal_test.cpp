#include <functional>
#include <string>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rueda/core/error.hpp"
#include "rueda/display/progress.hpp"

using namespace rueda;

namespace {

/// A pseudo-terminal of `columns` columns, as a terminal window or mpirun opens it.
class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(master_ >= 0);
    REQUIRE(::grantpt(master_) == 0);
    REQUIRE(::unlockpt(master_) == 0);
    path_ = ::ptsname(master_);
    slave_ = ::open(path_.c_str(), O_RDWR | O_NOCTTY);
    REQUIRE(slave_ >= 0);
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
  const std::string& path() const { return path_; }
  int fd() const { return slave_; }

 private:
  int master_ = -1;
  int slave_ = -1;
  std::string path_;
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

void plain_environment() {
  ::unsetenv("COLUMNS");
  ::setenv("TERM", "xterm", 1);
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "OMPI_MCA_orte_tag_output", "OMPI_MCA_orte_timestamp_output",
        "OMPI_MCA_orte_xml_output", "OMPI_MCA_orte_output_filename"}) {
    ::unsetenv(name);
  }
}

/// The width that a process sees at its standard output; 0 if that is no terminal.
int seen_width() {
  const Terminal terminal = Terminal::behind_stdout();
  return terminal.interactive() ? terminal.width() : 0;
}

/// The same, without a launcher.
int seen_alone(
    int fd, const std::function<void()>& prepare = [] {}) {
  return in_child(fd, [&] {
    plain_environment();
    prepare();
    return seen_width();
  });
}

/// The same in a rank whose standard output is `own`, started by a launcher that has `launchers`,
/// with a wrapper process in between.
int seen_under_mpirun(
    int launchers, int own, const std::function<void()>& prepare = [] {}) {
  return in_child(launchers, [&] {
    return in_child(own, [&] {
      return in_child(-1, [&] {
        plain_environment();
        ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
        prepare();
        return seen_width();
      });
    });
  });
}

struct Pipe {
  Pipe() { REQUIRE(::pipe(fd) == 0); }
  ~Pipe() {
    ::close(fd[0]);
    ::close(fd[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int fd[2] = {-1, -1};
};

}  // namespace

TEST_CASE("terminal: a path counts only if a terminal lies there", "[terminal]") {
  const PseudoTerminal pty(100);
  CHECK(Terminal(pty.path()).interactive());
  CHECK_FALSE(Terminal("/dev/null").interactive());
  CHECK_FALSE(Terminal("/nowhere/at/all").interactive());
  CHECK_FALSE(Terminal("").interactive());
  CHECK_FALSE(Terminal().interactive());
}

TEST_CASE("terminal: width follows the window and COLUMNS overrules it", "[terminal]") {
  const PseudoTerminal pty(100);
  CHECK(seen_alone(pty.fd()) == 100);
  pty.resize(61);
  CHECK(seen_alone(pty.fd()) == 61);
  CHECK(seen_alone(pty.fd(), [] { ::setenv("COLUMNS", "44", 1); }) == 44);
  CHECK(seen_alone(pty.fd(), [] { ::setenv("COLUMNS", "44x", 1); }) == 61);
  CHECK(seen_alone(pty.fd(), [] { ::setenv("COLUMNS", "-3", 1); }) == 61);
  pty.resize(0);
  CHECK(seen_alone(pty.fd()) == 80);
}

TEST_CASE("terminal: pipes and dumb terminals are none", "[terminal]") {
  const PseudoTerminal pty(100);
  const Pipe pipe;
  CHECK(seen_alone(pipe.fd[1]) == 0);
  CHECK(seen_alone(pty.fd(), [] { ::setenv("TERM", "dumb", 1); }) == 0);
}

TEST_CASE("terminal: under mpirun the launcher's standard output decides", "[terminal]") {
  const PseudoTerminal ranks(80);
  const PseudoTerminal window(120);
  const Pipe pipe;
  CHECK(seen_under_mpirun(pipe.fd[1], ranks.fd()) == 0);
  CHECK(seen_under_mpirun(window.fd(), ranks.fd()) == 120);
  CHECK(seen_under_mpirun(window.fd(), pipe.fd[1]) == 0);
}

TEST_CASE("terminal: a launcher that decorates or copies output leaves none", "[terminal]") {
  const PseudoTerminal ranks(80);
  const PseudoTerminal window(120);
  const auto width_with = [&](const char* name, const char* value) {
    return seen_under_mpirun(window.fd(), ranks.fd(), [=] { ::setenv(name, value, 1); });
  };
  CHECK(width_with("OMPI_MCA_orte_tag_output", "1") == 0);
  CHECK(width_with("OMPI_MCA_orte_timestamp_output", "1") == 0);
  CHECK(width_with("OMPI_MCA_orte_xml_output", "1") == 0);
  CHECK(width_with("OMPI_MCA_orte_output_filename", "logs") == 0);
  CHECK(width_with("OMPI_MCA_orte_tag_output", "0") == 120);
}

TEST_CASE("terminal: --progress words", "[terminal]") {
  const PseudoTerminal pty(100);
  const Terminal window(pty.path());
  CHECK(progress_mode("auto", window) == ProgressMode::bar);
  CHECK(progress_mode("auto", Terminal()) == ProgressMode::lines);
  CHECK(progress_mode("bar", Terminal()) == ProgressMode::bar);
  CHECK(progress_mode("lines", window) == ProgressMode::lines);
  CHECK(progress_mode("off", window) == ProgressMode::off);
  CHECK_THROWS_AS(progress_mode("fancy", window), InputError);
}
