#pragma once

namespace rueda {

/// Tells Open MPI, before it is initialised, to send large messages over TCP as streams
/// (btl_tcp_flags 0x1) and not as remote writes (its default). By these, two ranks that exchange
/// large messages both ways, as every ring does, take turns on a link that could carry both at
/// once: up to twice the time (docs/cluster.md). A value in the environment stays, and `mpirun --mca
/// btl_tcp_flags` puts it there. Other transports and other MPIs know nothing of it.
void prefer_tcp_streams();

}  // namespace rueda
