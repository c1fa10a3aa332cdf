#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "commands/doctor/doctor.hpp"
#include "commands/doctor/facts.hpp"
#include "commands/doctor/fault.hpp"
#include "launch/launcher.hpp"
#include "mpi/session/session.hpp"
#include "rueda/train/timings.hpp"

// The two processes of a rank: a supervisor, and a worker that may crash or
// hang. And how the supervisors of a run reach each other when MPI no longer
// can.

namespace rueda::doctor {

/// "signal 11, Segmentation fault".
inline std::string signal_text(int signal) {
  return fmt::format("signal {}, {}", signal, strsignal(signal));
}

/// How a transfer ended whose worker `signal` ended; 0: none. `waited` if the
/// signal came from outside: launchers end the neighbours of a crashed rank by
/// SIGTERM (and this process with them if by SIGKILL); a supervisor that
/// `forced` its worker to end did so by SIGKILL.
inline TransferFacts::End end_by_signal(int signal, bool forced) {
  switch (signal) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return TransferFacts::End::waited;
    case SIGKILL:
      if (forced) return TransferFacts::End::waited;
      return TransferFacts::End::crashed;
    default:
      return TransferFacts::End::crashed;
  }
}

/// The process that does what may crash or hang: everything with MPI and
/// devices. It writes each fact to the socket `channel` as soon as it is known.
/// The risky transfer comes last, when a byte has come from there: then the
/// report is out. Returns the exit code.
///
/// Lines of JSON: {"step", "factor"}: it begins a step, which may take `factor`
/// times the time limit; {"ranks"}: the facts of its own rank alone, later of
/// all; {"largest_batch"}; {"mailbox"}: the path; {"transfer"}: how its own
/// ended; {"transfers"}: how all ended; {"failed"}: an error ended the step.
/// `fault` happens on its rank.
int run_worker(const DoctorOptions& options, const Fault& fault, int channel);

// What the worker learns.

/// What the environment says of the launch. `refusal` stays empty, for MPI's
/// world is not known yet.
LaunchFacts read_launch(const Environment& environment);

/// Fills `refusal`, now that MPI's world is known.
void judge_launch(LaunchFacts& launch, const Environment& environment, int size);

/// Fills share, threads and remark of all ranks from the cores of their hosts' ranks.
void share_out_cores(Ranks& ranks);

/// What keeps Open MPI from starting here, and what changes it.
Obstacles obstacles_to_start(const Environment& environment);

/// All that a rank can know before MPI is initialised: that is when to call it,
/// since it opens a GPU. `parameter_files`: as Open MPI names them.
RankFacts look_at_machine(const Environment& environment, BackendChoice backend,
                          const std::vector<std::string>& parameter_files);

/// Bytes that every rank has for training on what its backend trains on: the
/// least over ranks of the free memory, divided by the ranks that share it,
/// less a twentieth.
std::size_t memory_per_rank(const Ranks& ranks);

/// For each model at its usual image size, in fp32 and bf16, the largest batch
/// of a rank whose training fits into `bytes` on `choice`, which is planned as
/// training plans it. What is not planned when `limit` is over fails and names it.
std::vector<BatchFacts> largest_batches(BackendChoice choice, std::size_t bytes, int ranks,
                                        int threads, std::chrono::seconds limit);

/// How a worker ended.
struct Ending {
  int signal = 0;
  bool forced = false;  ///< it had to be killed
  std::string text;     ///< empty if it ended well
};

/// A worker process and the lines that it writes.
class Child {
 public:
  /// Starts `work` in a process of its own, whose standard output goes to
  /// standard error. It is ended with its parent. Throws RunError if the system
  /// starts no more processes.
  explicit Child(const std::function<int(int channel)>& work) {
    std::array<int, 2> ends{};
    const pid_t parent = getpid();
    // Closed by what the process may start itself: MPI alone starts a daemon of its own.
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) process_ = fork();
    if (process_ < 0)
      throw RunError(std::string("cannot start a process: ") + std::strerror(errno));
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) std::_Exit(1);  // it ended before it could take this one along
      dup2(STDERR_FILENO, STDOUT_FILENO);
      close(ends[0]);
      std::_Exit(work(ends[1]));
    }
    close(ends[1]);
    channel_ = ends[0];
  }
  /// Ends the process if it still runs.
  ~Child() {
    end(0);
    close(channel_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next line; nothing if none comes within `milliseconds` or the process has closed its end.
  std::optional<std::string> next_line(int milliseconds) {
    if (buffer_.find('\n') == std::string::npos && !closed_) receive(milliseconds);
    const auto end = buffer_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }
  /// Whether there will be no more lines, once next_line gave none.
  bool is_silent() const { return closed_; }
  /// Lets the worker begin the transfer.
  void go() const {
    const char byte = 1;
    if (write(channel_, &byte, 1) != 1) return;  // it has ended: that shows elsewhere
  }
  void send(int signal) const {
    if (process_ > 0) kill(process_, signal);
  }
  /// Waits for the end, at most so long, then kills it.
  const Ending& end(double seconds) {
    const Stopwatch watch;
    while (!has_ended()) {
      ending_.forced = watch.seconds() > seconds;
      if (ending_.forced) send(SIGKILL);
      poll(nullptr, 0, 20);
    }
    return ending_;
  }
  bool has_ended() {
    int status = 0;
    if (process_ < 0) return true;
    const pid_t ended = waitpid(process_, &status, WNOHANG);
    if (ended > 0) {
      const int code = WEXITSTATUS(status);
      if (code != 0) ending_.text = fmt::format("exit code {}", code);
      if (WIFSIGNALED(status)) {
        ending_.signal = WTERMSIG(status);
        ending_.text = signal_text(ending_.signal);
      }
    }
    if (ended > 0 || (ended < 0 && errno != EINTR)) process_ = -1;
    return process_ < 0;
  }

 private:
  void receive(int milliseconds) {
    pollfd waiting{.fd = channel_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, milliseconds) <= 0) return;  // in vain, or a signal came
    std::array<char, 1 << 16> bytes{};
    const ssize_t count = read(channel_, bytes.data(), bytes.size());
    if (count > 0) buffer_.append(bytes.data(), std::size_t(count));
    if (count == 0) closed_ = true;
  }

  pid_t process_ = -1;  ///< -1 once it has been waited for
  int channel_ = -1;
  std::string buffer_;
  bool closed_ = false;
  Ending ending_;
};

/// A folder of small files by which the supervisors of a run exchange how the
/// transfer ended. The first rank makes all files in advance, empty: on network
/// file systems a file that is opened anew is seen as it is, while one that was
/// not there stays unseen for a while.
class Mailbox {
  using Path = std::filesystem::path;

 public:
  /// The one in `folder`, as rank `rank` uses it. An empty path is none.
  explicit Mailbox(Path folder = {}, int rank = 0) : folder_(std::move(folder)), rank_(rank) {}

  /// Makes a folder for `size` ranks below `parent` and returns its path; empty if that fails.
  static std::string make(const Path& parent, int size) {
    std::string name = (parent / ".rueda-doctor-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return {};
    const Mailbox box(name);
    bool made = std::ofstream(box.file("stop")).good();
    for (int rank = 0; rank < size; ++rank) made = made && std::ofstream(box.file_of(rank)).good();
    if (made) return name;
    box.remove();
    return {};
  }
  /// Whether this rank can write its file: whether the folder is the same for all.
  bool reachable() const { return write_existing(file_of(rank_), ""); }

  /// Leaves how this rank's transfer ended. False if that fails.
  bool put(const TransferFacts& mine) const {
    return write_existing(file_of(rank_), text_of(json_of(mine)) + "\n");
  }
  /// What a rank left; nothing if it has not yet.
  std::optional<TransferFacts> get(int rank) const {
    const std::string line = whole_line(file_of(rank));
    if (!fault_of_json(line).empty()) return std::nullopt;
    return from_text<TransferFacts>(line);
  }
  /// Asks all ranks to end their transfers; whether a rank did.
  void ask_to_stop() const { write_existing(file("stop"), "stop\n"); }
  bool is_asked_to_stop() const { return !whole_line(file("stop")).empty(); }

  void remove() const noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  /// Writes into a file that is there already: one that is not belongs to another file system.
  static bool write_existing(const Path& path, const std::string& text) {
    std::ofstream file(path, std::ios::in | std::ios::out);
    file << text << std::flush;
    return file.good();
  }
  /// The file's line, if its writer has finished it.
  static std::string whole_line(const Path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    if (file.eof()) line.clear();  // no line end yet
    return line;
  }
  Path file(const std::string& name) const {
    if (folder_.empty()) return {};
    return folder_ / name;
  }
  Path file_of(int rank) const { return file("rank-" + std::to_string(rank)); }

  Path folder_;
  int rank_;
};

}  // namespace rueda::doctor
