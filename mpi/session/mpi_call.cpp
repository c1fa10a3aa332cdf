#include "mpi/session/mpi_call.hpp"

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/computing.hpp"
#include "base/error.hpp"

namespace rueda {
namespace {

std::string reason(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "an unknown error";
  return {text.data(), std::size_t(length)};
}

std::string world_rank() {
  int rank = 0;
  if (!mpi_is_active() || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) return "unknown";
  return std::to_string(rank);
}

// One process has one MPI, hence one turn. Nothing here owns anything of MPI's.
std::atomic<std::thread::id> owner{};
std::atomic<const char*> call_name{nullptr};
std::atomic<SteadyTime::rep> call_since{0};

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw RunError(fmt::format(
      "{} failed on rank {}: {} (code {}); another rank may have ended, see the messages above",
      call, world_rank(), reason(code), code));
}

bool mpi_is_active() noexcept {
  int initialized = 0;
  int finalized = 0;
  return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 &&
         MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0;
}

void take_mpi_turn() {
  std::thread::id no_owner{};
  const std::thread::id me = std::this_thread::get_id();
  if (!owner.compare_exchange_strong(no_owner, me) && no_owner != me)
    throw RunError("a thread takes MPI while another one has it: a fault of this program");
}

void give_mpi_turn() noexcept { owner.store(std::thread::id{}); }

MpiCallNow mpi_call_now() noexcept {
  const char* const name = call_name.load(std::memory_order_acquire);
  return {name, SteadyTime(SteadyTime::duration(call_since.load(std::memory_order_relaxed)))};
}

MpiCall::MpiCall(const char* name) {
  if (owner.load() != std::this_thread::get_id()) {
    throw RunError(std::string(name) +
                   " is called by a thread that does not have the turn: a fault of this program");
  }
  call_since.store(SteadyClock::now().time_since_epoch().count(), std::memory_order_relaxed);
  call_name.store(name, std::memory_order_release);
}

MpiCall::~MpiCall() {
  Computing::goes_on();
  call_name.store(nullptr, std::memory_order_release);
}

}  // namespace rueda
