#pragma once

#include <mpi.h>

#include "base/clock.hpp"

namespace rueda {

/// Every return code of MPI goes through here: `check(MPI_Barrier(comm), "MPI_Barrier")`.
/// Throws the RunError that belongs to a failed call: its name, this process's
/// rank in the world, and what MPI says about `code`.
void check(int code, const char* call);

/// Whether MPI calls are allowed: initialized and not yet finalized.
bool mpi_is_active() noexcept;

// MPI has one owner at a time. Which thread that is changes only by hand-over:
// the owner gives the turn back, and another one takes it. Every wrapper of MPI
// asserts that it runs on the owner, so that a call from the wrong thread is an
// error with a name instead of a rare crash inside MPI. The thread that begins
// the Session is the first owner.

/// The calling thread becomes the owner. Throws RunError if another one is.
void take_mpi_turn();
/// The calling thread, the owner, hands MPI back.
void give_mpi_turn() noexcept;

/// A call of MPI that a process is inside of.
struct MpiCallNow {
  const char* name = nullptr;  ///< null: none
  SteadyTime since;
};
/// May be called by any thread.
MpiCallNow mpi_call_now() noexcept;

/// Stands around every call of MPI: asserts whose turn it is (RunError), and
/// shows a watchdog which call it is and since when.
class MpiCall {
 public:
  explicit MpiCall(const char* name);
  ~MpiCall();
  MpiCall(const MpiCall&) = delete;
  MpiCall& operator=(const MpiCall&) = delete;
};

/// Calls a function of MPI in its turn and checks its return code:
/// `call_mpi("MPI_Barrier", MPI_Barrier, comm)`.
template <class Function, class... Arguments>
void call_mpi(const char* name, Function function, Arguments... arguments) {
  const MpiCall call(name);
  check(function(arguments...), name);
}

}  // namespace rueda
