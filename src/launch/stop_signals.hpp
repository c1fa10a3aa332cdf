#pragma once

namespace rueda {

/// From now on SIGTERM and SIGUSR1 ask the run to stop at the end of a step.
/// Another one, at least a second after the first, ends the process as usual;
/// launchers may pass one signal on twice.
void listen_for_stop_signals();

/// Whether one has come.
bool stop_requested();

}  // namespace rueda
