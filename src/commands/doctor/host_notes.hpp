#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "commands/doctor/facts.hpp"
#include "launch/launcher.hpp"
#include "mpi/session/session.hpp"

namespace rueda::doctor {

/// A folder in which the hosts of a run leave what they know of themselves, before
/// MPI is started and whether or not it starts: a file of each host, in a
/// folder named for the launcher's job below the current one, which hosts
/// usually share. Where they do not, or the launcher says no name, each host
/// knows itself alone.
class HostNotes {
 public:
  explicit HostNotes(const Environment& environment);

  /// Leaves those of this host. What fails is not said: others do not see it.
  void put(const RankFacts& facts) const;
  /// Those of all hosts that have left theirs.
  std::map<std::string, RankFacts> read() const;
  void remove() const noexcept;

 private:
  std::filesystem::path folder_;  ///< empty: none
  std::string file_;  ///< of this process, in there; empty: another one of its host writes
};

}  // namespace rueda::doctor
