#pragma once

#include "facts.hpp"
#include "mpi/session/communicator.hpp"
#include "options.hpp"

namespace rueda::doctor {

/// Collective: sends patterns round the ring in small and large messages and checks what comes,
/// then measures the link if it is of device memory. It may crash, and never end.
/// `injected` is the fault of this very rank, if it has one.
TransferFacts try_transfer(Communicator& world, bool device, DoctorFault::Kind injected);

}  // namespace rueda::doctor
