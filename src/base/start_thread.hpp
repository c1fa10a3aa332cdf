#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace rueda {

/// Calls `start`, which starts a thread for `purpose`, and returns what it
/// returns. Throws RunError with the remedy where the system has no thread left.
template <typename Start>
auto start_thread(const std::string& purpose, const Start& start) {
  try {
    return start();
  } catch (const std::system_error& error) {
    throw RunError(
        "no thread can be started for " + purpose + ": " + error.code().message() +
        "; raise the limit of processes (ulimit -u, or the pids limit of the container "
        "or job) or of address space (ulimit -v), or start fewer ranks or threads on this "
        "machine");
  }
}

/// A thread that does `work` for `purpose`; throws as above.
template <typename Work>
std::jthread make_thread(const std::string& purpose, Work&& work) {
  return start_thread(purpose, [&] { return std::jthread(std::forward<Work>(work)); });
}

}  // namespace rueda
