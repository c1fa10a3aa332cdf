#include "mpi_turn.hpp"

#include <atomic>
#include <string>
#include <thread>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

// One process has one MPI, hence one turn. Nothing here owns anything of MPI's.
std::atomic<std::thread::id> owner{};
std::atomic<const char*> call_name{nullptr};
std::atomic<SteadyTime::rep> call_since{0};

}  // namespace

void take_mpi_turn() {
  std::thread::id no_owner{};
  const std::thread::id me = std::this_thread::get_id();
  if (!owner.compare_exchange_strong(no_owner, me) && no_owner != me) {
    throw RunError("a thread takes MPI while another one has it: a fault of this program");
  }
}

void give_mpi_turn() noexcept { owner.store(std::thread::id{}); }

MpiCallNow mpi_call_now() noexcept {
  return {call_name.load(), SteadyTime(SteadyTime::duration(call_since.load()))};
}

MpiCall::MpiCall(const char* name) {
  if (owner.load() != std::this_thread::get_id()) {
    throw RunError(std::string(name) +
                   " is called by a thread that does not have the turn: a fault of this program");
  }
  call_since.store(std::chrono::steady_clock::now().time_since_epoch().count());
  call_name.store(name);
}

MpiCall::~MpiCall() { call_name.store(nullptr); }

}  // namespace rueda
