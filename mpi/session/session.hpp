#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace rueda {

/// Which threads of a process may call MPI, weakest first (MPI's MPI_THREAD_*).
enum class ThreadLevel {
  single,      ///< the process has one thread
  funneled,    ///< only the thread that began the session
  serialized,  ///< any thread, one at a time
  multiple,    ///< any thread at any time
};

/// MPI from its initialisation to its end; the process makes one of these, in main().
///
/// Declare it *outside* the try block that reports errors. Finalizing waits for
/// all ranks: after an error that this rank alone met (see is_agreed) the peers
/// sit in a collective, so the handler calls abort() and never reaches the
/// destructor.
class Session {
 public:
  /// Initialises MPI, asking for `level`. Throws RunError if it offers less
  /// than `needed`, and if MPI is or was initialised elsewhere. On
  /// MPI_COMM_WORLD errors return from here on. The calling thread gets the
  /// turn (mpi_call.hpp). Calls prefer_tcp_streams() and leave_ucx_out_of_windows() first.
  Session(ThreadLevel level, ThreadLevel needed);
  explicit Session(ThreadLevel level) : Session(level, level) {}
  /// Finalizes, unless that has happened.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// What MPI offers, which may be less or more than was asked for.
  ThreadLevel provided() const { return provided_; }

  /// Ends every process of the job, peers inside a collective included, with
  /// `code` as exit code. Report the error first.
  [[noreturn]] void abort(ExitCode code) noexcept;

 private:
  ThreadLevel provided_ = ThreadLevel::single;
};

/// Makes Open MPI, before it is initialised, send large messages over TCP as streams (btl_tcp_flags
/// 0x1) instead of remote writes, its default. With remote writes two ranks that exchange large
/// messages both ways, as every ring does, take turns on a link that could carry both at once: up
/// to twice the time (docs/cluster.md). A value in the environment or the
/// user's file (~/.openmpi/mca-params.conf) stays.
void prefer_tcp_streams();

/// Makes Open MPI, before it is initialised, ask UCX for no window. rueda's lie in the memory of
/// one host, which UCX does not make, and Open MPI 5 prints an error for each rank when it asks and
/// there is no network for UCX. A value in the environment or the
/// user's file (~/.openmpi/mca-params.conf) stays.
void leave_ucx_out_of_windows();

/// What the MPI library says of itself: its first line, for example "Open MPI
/// v4.1.4, package: ...". May be called before MPI is initialised.
std::string mpi_library_version();

}  // namespace rueda
