#pragma once

namespace rueda {

/// From now on these ask the run to stop at the end of a step: SIGTERM, SIGUSR1,
/// SIGHUP (the terminal is closed; not where it was ignored, as by nohup) and
/// SIGXCPU (the processor time of `ulimit -t` is spent). Another one, at least a
/// second after the first, ends the process as usual; launchers may pass one
/// signal on twice. SIGXCPU, which the system repeats each second, does not.
/// Where nobody has called stop_requested `patience` seconds after the first,
/// the process ends with ExitCode::stopped: before its first step a run may wait
/// for a file or a rank that never comes. Slurm kills after 30 s.
void listen_for_stop_signals(int patience = 10);

/// From now on a write beyond the limit of a file's size (`ulimit -f`) fails,
/// as on a full disk, instead of ending the process by SIGXFSZ.
void let_large_writes_fail();

/// Whether one has come. Is asked at the beginning of each step.
bool stop_requested();

}  // namespace rueda
