#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "doctor.hpp"
#include "facts.hpp"

// The two processes of a rank: a supervisor, and a worker that may crash or hang. And how the
// supervisors of a run reach each other when MPI no longer can.

namespace rueda::doctor {

/// The signal by which a supervisor ends a transfer that does not end by itself.
inline constexpr int kEndTransfer = SIGUSR1;

/// "signal 11, Segmentation fault".
std::string signal_text(int signal);

/// How a transfer ended whose worker `signal` ended; 0: none. `waited` if the signal came from
/// outside: launchers end the neighbours of a crashed rank by SIGTERM (and this process with them
/// if by SIGKILL); supervisors end a worker by kEndTransfer, and by SIGKILL if they were `forced`.
TransferFacts::End end_by_signal(int signal, bool forced);

/// Installs a handler.
void on_signal(int signal, void (*handler)(int));

/// The ends of the worker's pipes.
struct WorkerPipes {
  int facts = -1;  ///< to write lines of JSON to
  int go = -1;     ///< a byte comes when the report is out and the transfer may crash
};

/// The process that does what may crash or hang: everything with MPI and devices. It writes each
/// fact as soon as it is known. The risky transfer comes last. Returns the exit code.
///
/// Lines: {"step", "factor"}: it begins a step, which may take `factor` times the time limit;
/// {"ranks"}: the facts of its own rank alone, later of all; {"batches", "backend", "memory"};
/// {"mailbox"}: the path; {"transfer"}: how its own ended; {"transfers"}: how all ended;
/// {"failed"}: an error ended the step.
int run_worker(const DoctorOptions& options, WorkerPipes pipes);

/// How a worker ended.
struct Ending {
  int signal = 0;
  bool forced = false;  ///< it had to be killed
  std::string text;     ///< empty if it ended well
};

/// A worker process and the lines that it writes.
class Child {
 public:
  /// Starts `work` in a process of its own, whose standard output goes to standard error. It is
  /// ended with its parent. Throws RunError if the system starts no more processes.
  explicit Child(const std::function<int(WorkerPipes)>& work);
  /// Ends the process if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next line; nothing if none comes within `milliseconds` or the process has closed its end.
  std::optional<std::string> next_line(int milliseconds);
  /// Whether there will be no more lines.
  bool is_silent() const { return closed_ && buffer_.find('\n') == std::string::npos; }
  /// Lets the worker begin the transfer.
  void go() const;
  void send(int signal) const;
  /// Waits for the end, at most so long, then kills it.
  const Ending& end(double seconds);
  bool has_ended();

 private:
  void collect(int options, bool forced);
  void receive(int milliseconds);

  pid_t process_ = -1;  ///< -1 once it has been waited for
  int facts_ = -1;
  int go_ = -1;
  std::string buffer_;
  bool closed_ = false;
  Ending ending_;
};

/// A folder of small files by which the supervisors of a run exchange how the transfer ended. The
/// first rank makes all files in advance, empty: on network file systems a file that is opened anew
/// is seen as it is, while one that was not there stays unseen for a while.
class Mailbox {
 public:
  /// The one in `folder`, as rank `rank` uses it. An empty path is none.
  explicit Mailbox(std::filesystem::path folder = {}, int rank = 0)
      : folder_(std::move(folder)), rank_(rank) {}

  /// Makes a folder for `size` ranks below `parent` and returns its path; empty if that fails.
  static std::string make(const std::filesystem::path& parent, int size);
  /// Whether this rank can write its file: whether the folder is the same for all.
  bool reachable() const { return write_existing(file_of(rank_), ""); }

  /// Leaves how this rank's transfer ended. False if that fails.
  bool put(const TransferFacts& mine) const {
    return write_existing(file_of(rank_), line_of(mine) + "\n");
  }
  /// What a rank left; nothing if it has not yet.
  std::optional<TransferFacts> get(int rank) const;
  /// Asks all ranks to end their transfers; whether a rank did.
  void ask_to_stop() const { write_existing(file("stop"), "stop\n"); }
  bool is_asked_to_stop() const { return !whole_line(file("stop")).empty(); }

  void remove() const noexcept;

 private:
  using Path = std::filesystem::path;
  /// Writes into a file that is there already: one that is not belongs to another file system.
  static bool write_existing(const Path& path, const std::string& text);
  /// The file's line, if its writer has finished it.
  static std::string whole_line(const Path& path);
  Path file(const std::string& name) const { return folder_.empty() ? Path() : folder_ / name; }
  Path file_of(int rank) const { return file("rank-" + std::to_string(rank)); }

  Path folder_;
  int rank_;
};

}  // namespace rueda::doctor
