#include "session.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "known_sums.hpp"
#include "mpi/session/launch_check.hpp"
#include "mpi/session/session.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/log.hpp"
#include "run/train_setup.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/version.hpp"

namespace rueda::bench {
namespace {

std::vector<int> threads_of_all(RankGroup& group, int mine) {
  std::vector<int> threads;
  for (const std::string& text : all_gather_text(group, std::to_string(mine))) {
    threads.push_back(std::stoi(text));
  }
  return threads;
}

void note(const std::string& text) {
  if (!text.empty()) std::cerr << "note: " + text + '\n' << std::flush;
}

}  // namespace

BenchSession::BenchSession(const BenchSetup& setup, const SelectedDevice& device,
                           const std::string& asked, std::size_t most_bytes)
    : setup_(setup), most_bytes_(most_bytes) {
  require_same(world_, "the program version", version_text());
  require_same(world_, "what the benchmark was asked for", asked);
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
  describe(threads);
}

void BenchSession::describe(int threads) {
  system_.started_at = utc_now();
  system_.versions = component_versions();
  system_.versions.insert(system_.versions.begin(), {"rueda", program_version()});
  system_.hosts = all_gather_text(world_, world_.host());
  system_.backend = backend_->name();
  system_.device = backend_->device();
  system_.transport = to_string(transport_);
  system_.threads = threads_of_all(world_, threads);
  system_.wire = setup_.wire;
}

void BenchSession::print(const std::string& text) const {
  if (world_.rank() == 0) std::cout << text << std::flush;
}

std::unique_ptr<AllReduce> BenchSession::try_all_reduce(const ReduceSettings& settings,
                                                        std::string& refusal) {
  std::unique_ptr<AllReduce> made;
  std::string mine;
  try {
    made = make_all_reduce(
        settings, {world_, backend_->reduce_device(), transport_, most_bytes_ / sizeof(float)});
  } catch (const InputError& error) {
    mine = error.what();
  }
  const auto refusals = all_gather_text(world_, mine);
  const auto first = std::find_if(refusals.begin(), refusals.end(),
                                  [](const std::string& text) { return !text.empty(); });
  if (first == refusals.end()) return made;
  refusal = *first;
  return nullptr;
}

void BenchSession::allocate() {
  together(world_, [&] { memory_ = backend_->allocate(most_bytes_); });
}

std::vector<Seconds> BenchSession::measure_all(const std::vector<AllReduce*>& reduces,
                                               std::size_t bytes, const Effort& effort) {
  const std::size_t floats = bytes / sizeof(float);
  std::vector<Candidate> candidates;
  for (AllReduce* reduce : reduces) {
    const auto own = reduce->arena();
    candidates.push_back({reduce, own.size() >= floats ? own : memory_->floats()});
  }
  return measure({world_, *backend_, setup_.wire}, candidates, floats, effort);
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
  check_launch([](const char* name) -> const char* { return std::getenv(name); },
               Communicator().size());
  report_errors_of_ranks(session, [&] {
    Communicator world;
    together(world, [&] {
      if (failure) std::rethrow_exception(failure);
    });
    perform(device);
  });
  return static_cast<int>(ExitCode::done);
}

}  // namespace rueda::bench
