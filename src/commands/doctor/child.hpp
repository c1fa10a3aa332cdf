#pragma once

#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "worker.hpp"

namespace rueda::doctor {

/// A worker process and the lines that it writes.
class Child {
 public:
  /// Starts `work` in a process of its own, whose standard output goes to standard error. It is
  /// ended with its parent. Throws RunError if the system starts no more processes.
  explicit Child(const std::function<int(WorkerPipes)>& work);
  /// Ends it, if nobody has.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next line; nothing if none comes within `milliseconds` or the process has closed its end.
  std::optional<std::string> next_line(int milliseconds);
  /// Whether there will be no more lines.
  bool is_silent() const { return closed_ && buffer_.find('\n') == std::string::npos; }
  /// Tells the worker to go on.
  void go() const;
  void send(int signal) const;
  /// Waits for the end, at most so long, then ends it. How it ended: empty if well.
  std::string end(double seconds);

 private:
  void receive(int milliseconds);

  pid_t process_ = -1;  ///< -1 once it has been waited for
  int facts_ = -1;
  int go_ = -1;
  std::string buffer_;
  bool closed_ = false;
  std::string how_;
};

}  // namespace rueda::doctor
