#pragma once

#include "doctor.hpp"
#include "facts.hpp"
#include "mpi/session/communicator.hpp"

namespace rueda::doctor {

/// Collective: sends patterns round the ring in small and large messages and checks what comes,
/// then measures the link of device memory. It may crash and may never end: kEndTransfer ends it.
/// `injected` is the fault of this very rank, if it has one.
///
/// After a signal the stack is gone without its destructors having run, and MPI or a driver may be
/// in any state: the caller leaves MPI and ends the process, nothing else. It leaves MPI at all
/// because launchers take a process that vanishes for a failed run and end the others.
TransferFacts try_transfer(Communicator& world, bool device, DoctorFault::Kind injected);

}  // namespace rueda::doctor
