#pragma once

namespace rueda {

/// From now on SIGTERM and SIGUSR1 ask the run to stop at the end of a step.
/// Another one, at least a second after the first, ends the process as usual;
/// launchers may pass one signal on twice. So does the first one where nobody has
/// called stop_requested `patience` seconds later: before its first step a run
/// may wait for a file or a rank that never comes. Slurm kills after 30 s.
void listen_for_stop_signals(int patience = 10);

/// Whether one has come. Is asked at the beginning of each step.
bool stop_requested();

}  // namespace rueda
