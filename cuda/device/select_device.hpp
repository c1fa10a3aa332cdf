#pragma once

namespace rueda::cuda {

/// Makes device `ordinal` the current one of the calling thread and creates its context, so that
/// whoever looks for a context afterwards, such as MPI at its initialisation, finds this one. Other
/// threads begin with device 0. Throws RunError.
void select_device(int ordinal);

}  // namespace rueda::cuda
