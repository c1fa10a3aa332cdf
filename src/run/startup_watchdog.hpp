#pragma once

#include <optional>

#include "mpi/session/communicator.hpp"
#include "mpi/session/watchdog.hpp"
#include "rueda/reduce/reduce_journal.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Watches what lies around training, where ranks wait for one that reads or plans: start-up, the
/// last files, the end of MPI. It gives them ten times as long as --stall-seconds gives a message.
class PatientWatch {
 public:
  void begin(const TrainConfig& config, const Communicator& world);

 private:
  ReduceJournal no_sums_;
  std::optional<Watchdog> watchdog_;
};

}  // namespace rueda
