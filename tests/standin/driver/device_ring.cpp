// Runs the ring over "device" memory of the stand-in driver and checks every sum.
//
//   mpirun -n P device_ring        below a CUDA-aware Open MPI; jobs/check/device_ring.sh does it
#include <algorithm>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>

#include <cuda.h>

#include "base/error.hpp"
#include "mpi/exchange/mpi_exchange.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/session/session.hpp"
#include "mpi/sums/ring_all_reduce.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/values.hpp"

namespace {

using namespace rueda;

/// Floats in memory of the driver.
class DriverFloats {
 public:
  explicit DriverFloats(std::size_t count) : count_(count) {
    if (cuMemAlloc(&pointer_, std::max<std::size_t>(count, 1) * sizeof(float)) != CUDA_SUCCESS) {
      throw RunError("the stand-in driver has no memory for " + std::to_string(count) +
                     " floats: make room in /dev/shm");
    }
  }
  ~DriverFloats() { cuMemFree(pointer_); }
  DriverFloats(const DriverFloats&) = delete;
  DriverFloats& operator=(const DriverFloats&) = delete;

  std::span<float> span() const { return {reinterpret_cast<float*>(pointer_), count_}; }

 private:
  CUdeviceptr pointer_ = 0;
  std::size_t count_;
};

/// A device whose memory is the driver's. Work is done at once, by the host, past the driver's
/// counters: those count MPI's copies alone. Scratch memory is poisoned each time it is handed out.
class DriverReduceDevice final : public test::QueueingReduceDevice {
 public:
  explicit DriverReduceDevice(std::size_t scratch) : scratch_(scratch) {}

  Event record() override { return {}; }
  void wait(Event) override {}
  std::span<float> scratch(std::size_t count) override {
    const auto memory = scratch_.span().first(count);
    std::fill(memory.begin(), memory.end(), std::numeric_limits<float>::quiet_NaN());
    return memory;
  }

 private:
  void queue(Task task) override { task(); }

  DriverFloats scratch_;
};

/// Elements of the sum that are wrong on this rank.
std::size_t wrong_sums(Communicator& comm, std::size_t length) {
  const DriverFloats memory(length);
  DriverReduceDevice device(length);
  RingAllReduce ring(std::make_unique<MpiExchange>(comm), device);
  const std::span<float> slice = memory.span();
  ReduceJournal unread;
  std::size_t wrong = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    for (std::size_t i = 0; i < length; ++i) slice[i] = test::whole_value(comm.rank(), i);
    device.wait(ring.sum(slice, device.record(), unread));
    for (std::size_t i = 0; i < length; ++i) wrong += slice[i] != test::whole_sum(comm.size(), i);
  }
  return wrong;
}

/// The sum of the ranks' counts, on every rank.
std::size_t total(Communicator& comm, std::size_t mine) {
  std::size_t sum = 0;
  for (const std::size_t theirs : all_gather(comm, mine)) sum += theirs;
  return sum;
}

/// Lengths below and above every limit of Open MPI's, and the gradients of ResNet-18.
int run(Communicator& comm) {
  std::size_t wrong = 0;
  for (const std::size_t length : {1U, 7U, 1000U, 100'003U, 1U << 20U, 11'173'962U})
    wrong += wrong_sums(comm, length);
  wrong = total(comm, wrong);
  if (comm.rank() == 0) {
    std::cout << "device_ring: " << comm.size() << " ranks, " << wrong << " wrong sums"
              << std::endl;
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {
    std::cerr << "usage: mpirun -n P device_ring" << std::endl;
    return 2;
  }
  Session mpi(ThreadLevel::funneled);
  try {
    Communicator comm;
    return run(comm);
  } catch (const Error& error) {
    std::cerr << "device_ring: " << error.what() << std::endl;
    mpi.abort(error.code());
  }
}
