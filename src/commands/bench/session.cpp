#include "session.hpp"

#include <exception>
#include <iostream>

#include "mpi/session/launch_check.hpp"
#include "mpi/session/session.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/log.hpp"
#include "run/train_setup.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/version.hpp"

namespace rueda::bench {
namespace {

void note(const std::string& text) {
  if (!text.empty()) std::cerr << "note: " + text + '\n' << std::flush;
}

}  // namespace

BenchSession::BenchSession(const BenchSetup& setup, const SelectedDevice& device,
                           const std::string& asked, std::size_t most_bytes)
    : most_bytes_(most_bytes) {
  require_same(world_, "the program version", version_text());
  require_same(
      world_, "what the benchmark was asked for",
      asked + "\n--backend " + to_string(setup.backend) + "\n--wire " + to_string(setup.wire));
  together(world_, [&] {
    if (world_.size() > kMostExactRanks) {
      throw InputError("the benchmark tests sums of up to " + std::to_string(kMostExactRanks) +
                       " ranks; start fewer");
    }
  });
  note(check_shared_devices(world_, {world_.host(), device.uuid}, setup.allow_shared_gpu));
  const int threads = agree_on_cores(world_, setup.threads).choice.threads;
  together(world_, [&] { backend_ = open_backend({.choice = setup.backend, .threads = threads}); });
  const auto decision = agree_on_transport(world_, setup.transport, backend_->reduce_device());
  transport_ = decision.transport;
  note(decision.warning);
  system_.started_at = utc_now();
  system_.versions = component_versions();
  system_.versions.insert(system_.versions.begin(), {"rueda", program_version()});
  system_.hosts = all_gather_text(world_, world_.host());
  system_.backend = backend_->name();
  system_.device = backend_->device();
  system_.transport = to_string(transport_);
  system_.threads = all_gather(world_, threads);
  system_.wire = setup.wire;
}

void BenchSession::print(const std::string& text) const {
  if (world_.rank() == 0) std::cout << text << std::flush;
}

std::string BenchSession::add(const ReduceSettings& settings) {
  std::unique_ptr<AllReduce> made;
  std::string refusal;
  try {
    made = make_all_reduce(
        settings, {world_, backend_->reduce_device(), transport_, most_bytes_ / sizeof(float)});
  } catch (const InputError& error) {
    refusal = error.what();
  }
  for (const std::string& text : all_gather_text(world_, refusal)) {
    if (!text.empty()) return text;
  }
  reduces_.push_back(std::move(made));
  return {};
}

void BenchSession::allocate() {
  together(world_, [&] { memory_ = backend_->allocate(most_bytes_); });
}

std::vector<Seconds> BenchSession::measure(std::size_t bytes, const Effort& effort,
                                           const std::function<bool(std::size_t)>& takes_part) {
  const std::size_t floats = bytes / sizeof(float);
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < reduces_.size(); ++i) {
    const auto own = reduces_[i]->arena();
    if (!takes_part(i)) continue;
    candidates.push_back({reduces_[i].get(), own.size() >= floats ? own : memory_->floats()});
  }
  return bench::measure({world_, *backend_, system_.wire}, candidates, floats, effort);
}

int in_session(BackendChoice backend, const std::function<void()>& prepare,
               const std::function<void(const SelectedDevice&)>& perform) {
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
  check_launch(environment_variable, Communicator().size());
  report_errors_of_ranks(session, [&] {
    Communicator world;
    together(world, [&] {
      if (failure) std::rethrow_exception(failure);
    });
    perform(device);
  });
  return int(ExitCode::done);
}

}  // namespace rueda::bench
