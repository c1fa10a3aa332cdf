#pragma once

#include <functional>

namespace rueda::doctor {

/// The signal by which the supervisor ends a transfer that does not end by itself.
extern const int kEndTransfer;

/// Runs `work`, which may crash or never end, and returns 0, or the signal that ended it: one of
/// those by which a process crashes, or kEndTransfer. After a signal the stack of `work` is gone
/// without its destructors having run, so that what it held is lost, and what it called (MPI, a
/// driver) may be in any state. The caller leaves MPI and ends the process, nothing else: it goes
/// on at all only because launchers take a process that vanishes without a farewell for a failed
/// run, and end the others.
int survive(const std::function<void()>& work);

}  // namespace rueda::doctor
