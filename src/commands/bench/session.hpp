#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench.hpp"
#include "mpi/session/communicator.hpp"
#include "record.hpp"
#include "rueda/backend/backend.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/make_all_reduce.hpp"

namespace rueda::bench {

/// The ranks of the run with a device each, as training would have them, and memory to sum in.
class BenchSession {
 public:
  /// Collective. `asked` is what all ranks must have been asked alike besides the setup, one
  /// option a line.
  /// `most_bytes`: of the longest slice. Notes go to standard error, from rank 0. Throws InputError
  /// as training would.
  BenchSession(const BenchSetup& setup, const SelectedDevice& device, const std::string& asked,
               std::size_t most_bytes);

  Communicator& world() { return world_; }
  const SystemInfo& system() const { return system_; }
  /// Prints on rank 0.
  void print(const std::string& text) const;

  /// Collective: makes an all-reduce as `settings` say, one more to measure. Returns why this
  /// machine does not offer it, the same on all ranks; empty if it does.
  std::string add(const ReduceSettings& settings);
  /// Collective: takes the memory, once for all sizes as the arena of a training run.
  void allocate();
  /// Collective: measures a slice of `bytes` with those of the all-reduces that take part, which
  /// are counted as they were added. One sums in its own memory if it has some, and else in the
  /// session's.
  std::vector<Seconds> measure(
      std::size_t bytes, const Effort& effort,
      const std::function<bool(std::size_t)>& takes_part = [](std::size_t) { return true; });

 private:
  Communicator world_;
  std::size_t most_bytes_;
  std::unique_ptr<Backend> backend_;
  Transport transport_ = Transport::host;
  std::unique_ptr<Memory> memory_;
  std::vector<std::unique_ptr<AllReduce>> reduces_;
  SystemInfo system_;
};

/// Calls `perform` between the start of MPI and its end. `prepare` comes before MPI on this rank;
/// an error of it is reported once all ranks can hear of it. Returns the exit code.
int in_session(BackendChoice backend, const std::function<void()>& prepare,
               const std::function<void(const SelectedDevice&)>& perform);

}  // namespace rueda::bench
