#include "stage.hpp"

#include <cstdlib>
#include <exception>
#include <iostream>

#include "known_sums.hpp"
#include "mpi/session/launch_check.hpp"
#include "mpi/session/session.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/rank_errors.hpp"
#include "run/train_setup.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/shared_device_check.hpp"
#include "wiring/version.hpp"

namespace rueda::bench {
namespace {

const char* environment(const char* name) { return std::getenv(name); }

void note(const std::string& text) {
  if (!text.empty()) std::cerr << "note: " + text + '\n' << std::flush;
}

}  // namespace

Stage::Stage(const BenchPlace& place, const SelectedDevice& device, const std::string& asked) {
  require_same(world_, "the program version", version_text());
  require_same(world_, "what the benchmark was asked for", asked);
  together(world_, [&] {
    if (world_.size() > kMostExactRanks) {
      throw InputError("the benchmark tests sums of up to " + std::to_string(kMostExactRanks) +
                       " ranks; start fewer");
    }
  });
  note(check_shared_devices(world_, {world_.host(), device.uuid}, place.allow_shared_gpu));
  const int threads = settle_cores(world_, place.threads).choice.threads;
  together(world_, [&] { backend_ = open_backend({.choice = place.backend, .threads = threads}); });
  const auto decision = agree_on_transport(world_, place.transport, backend_->reduce_device());
  transport_ = decision.transport;
  note(decision.warning);
  describe(place, threads);
}

void Stage::describe(const BenchPlace& place, int threads) {
  scene_.started_at = utc_now();
  scene_.versions = component_versions();
  scene_.versions.insert(scene_.versions.begin(), {"rueda", program_version()});
  scene_.hosts = all_gather_text(world_, world_.host());
  scene_.backend = backend_->name();
  scene_.device = backend_->device();
  scene_.transport = to_string(transport_);
  scene_.threads = all_gather(world_, threads);
  scene_.wire = place.wire;
}

int in_session(BackendChoice backend, const Preparation& prepare, const Performance& perform) {
  SelectedDevice device;
  std::exception_ptr failure;
  try {
    prepare();
    device = select_device(backend);  // before MPI looks for one
    failure = device.failure;
  } catch (...) {
    failure = std::current_exception();
  }
  Session session(ThreadLevel::funneled);
  check_launch(environment, Communicator().size());
  speak_for_ranks(session, [&] {
    Communicator world;
    together(world, [&] {
      if (failure) std::rethrow_exception(failure);
    });
    perform(device);
  });
  return static_cast<int>(ExitCode::done);
}

}  // namespace rueda::bench
