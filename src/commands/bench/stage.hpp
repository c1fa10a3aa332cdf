#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "options.hpp"
#include "record.hpp"
#include "rueda/backend/backend.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/make_all_reduce.hpp"

namespace rueda::bench {

/// Ranks and a device each, as training would have them: what all-reduces are measured on.
class Stage {
 public:
  /// Collective. `asked` is what ranks must have been asked alike, one fact a line. Notes go to
  /// standard error, from rank 0. Throws InputError as training would.
  Stage(const BenchPlace& place, const SelectedDevice& device, const std::string& asked);

  Communicator& world() { return world_; }
  Backend& backend() { return *backend_; }
  bool speaks() const { return world_.rank() == 0; }
  /// Where all-reduces are made. Outlives them. `arena_floats`: of the longest slice.
  ReducePlace place(std::size_t arena_floats) {
    return {world_, backend_->reduce_device(), transport_, arena_floats};
  }
  Transport transport() const { return transport_; }
  const Scene& scene() const { return scene_; }

 private:
  void describe(const BenchPlace& place, int threads);

  Communicator world_;
  std::unique_ptr<Backend> backend_;
  Transport transport_ = Transport::host;
  Scene scene_;
};

/// What precedes MPI on this rank, and may fail on it alone.
using Preparation = std::function<void()>;
using Performance = std::function<void(const SelectedDevice&)>;

/// Does `perform` between MPI's beginning and its end. What `prepare` throws before is told when
/// all ranks can hear of it. Returns the exit code; throws AlreadyReported for what all ranks
/// agreed on.
int in_session(BackendChoice backend, const Preparation& prepare, const Performance& perform);

}  // namespace rueda::bench
