#pragma once

#include <functional>

#include "mpi/session/session.hpp"

namespace rueda {

/// Does the `work` of one rank while MPI is up. An error that all ranks throw alike is told by one
/// of them (and thrown as Told); one that this rank alone met is told by it, and ends the job:
/// peers may wait in a collective that this rank will never reach.
void speak_for_ranks(Session& session, const std::function<void()>& work);

}  // namespace rueda
