#pragma once

namespace rueda {

/// From now on SIGTERM and SIGUSR1 are a wish to stop at the end of a step. A second one, by a
/// second later than the first, ends the process as it would have without this: launchers may pass
/// one signal on twice.
void listen_for_stop_signals();

/// Whether one has come.
bool stop_requested();

}  // namespace rueda
