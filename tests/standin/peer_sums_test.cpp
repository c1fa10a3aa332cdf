// `--all-reduce shared` of GPUs, under mpiexec, on the stand-in: its device memory is that of the
// driver which RUEDA_STANDIN_DRIVER names, so that ranks map each other's.
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "cuda/backend/cuda_reduce_device.hpp"
#include "mpi/sums/shared_all_reduce.hpp"
#include "reduce/host_sums.hpp"
#include "tests/support/mpi_check.hpp"
#include "tests/support/values.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr std::size_t kArena = 70'000;

/// A rank's device, whose compute stream writes what is to be summed.
struct Gpu {
  cuda::Stream compute = cuda::make_stream();
  cuda::CudaReduceDevice device{compute.get()};
  std::vector<cuda::DeviceMemory> kept = {};

  /// Zeros, for as long as this object lives.
  std::span<float> keep(std::size_t count) {
    void* memory = kept.emplace_back(cuda::make_device_memory(count * sizeof(float))).get();
    cuda::check(cudaMemsetAsync(memory, 0, count * sizeof(float), compute.get()),
                "cudaMemsetAsync");
    cuda::check(cudaStreamSynchronize(compute.get()), "cudaStreamSynchronize");
    return {static_cast<float*>(memory), count};
  }
  std::vector<float> read(std::span<const float> memory) {
    std::vector<float> values(memory.size());
    cuda::check(cudaMemcpy(values.data(), memory.data(), memory.size_bytes(), cudaMemcpyDefault),
                "cudaMemcpy");
    return values;
  }
  /// Queued, not awaited.
  void write(std::span<float> memory, const std::vector<float>& values) {
    cuda::check(cudaMemcpyAsync(memory.data(), values.data(), memory.size_bytes(),
                                cudaMemcpyDefault, compute.get()),
                "cudaMemcpyAsync");
  }
  /// The sum of this slice's rough values, in the device's memory.
  std::vector<float> rough_sum(AllReduce& reduce, int rank, std::span<float> slice) {
    write(slice, filled<rough_value>(rank, slice.size()));
    ReduceJournal unread;
    device.wait(reduce.sum(slice, device.record(), unread));
    return read(slice);
  }
};

TEST_CASE("slices of the arenas of GPUs have the bits of one rank that adds alone") {
  Communicator comm;
  Gpu gpu;
  SharedAllReduce reduce(comm, gpu.device, kArena);
  const auto arena = comm.size() > 1 ? reduce.arena() : gpu.keep(kArena);
  CHECK_ON_ALL_RANKS(gpu.read(arena) == std::vector<float>(kArena, 0.0F));
  for (const std::size_t length : {0U, 1U, 2U, 3U, 4U, 5U, 31U, 257U, 1023U, 60'001U}) {
    for (const std::size_t offset : {0U, 1U, 2U, 3U, 6U, 900U}) {
      const auto sums = gpu.rough_sum(reduce, comm.rank(), arena.subspan(offset, length));
      CAPTURE(length, offset);
      CHECK_ON_ALL_RANKS(same_bits(sums, serial_trees(comm.size(), length)));
    }
  }
}

TEST_CASE("slices elsewhere have the same bits, and neighbours stay") {
  Communicator comm;
  Gpu gpu;
  SharedAllReduce reduce(comm, gpu.device, 0, 1000);
  const auto memory = gpu.keep(5000);
  for (const std::size_t length : {1U, 5U, 999U, 1000U, 1001U, 4003U}) {
    for (const std::size_t offset : {0U, 1U, 7U}) {
      gpu.write(memory, std::vector<float>(5000, 7.0F));
      auto expected = std::vector<float>(5000, 7.0F);
      const auto sums = serial_trees(comm.size(), length);
      std::copy(sums.begin(), sums.end(), expected.begin() + std::ptrdiff_t(offset));
      gpu.rough_sum(reduce, comm.rank(), memory.subspan(offset, length));
      CAPTURE(length, offset);
      CHECK_ON_ALL_RANKS(same_bits(gpu.read(memory), expected));
    }
  }
}

TEST_CASE("the bits are those of host memory, sum after sum") {
  Communicator comm;
  Gpu gpu;
  SharedAllReduce reduce(comm, gpu.device, kArena);
  const auto arena = comm.size() > 1 ? reduce.arena() : gpu.keep(kArena);
  const auto slice = arena.subspan(3, 4099);
  auto expected = filled<rough_value>(comm.rank(), slice.size());
  gpu.write(slice, expected);
  ReduceJournal unread;
  for (int round = 0; round < 20; ++round) {
    gpu.device.wait(reduce.sum(slice, gpu.device.record(), unread));
    std::vector<const float*> from;
    const auto all = comm.all_gather(std::as_bytes(std::span(expected)));
    for (const auto& bytes : all) from.push_back(reinterpret_cast<const float*>(bytes.data()));
    float* to = expected.data();
    tree_sum(from, {&to, 1}, {0, expected.size()});
    for (float& value : expected) value *= 0.25F * float(comm.rank() + 1);
    auto sums = gpu.read(slice);
    for (float& value : sums) value *= 0.25F * float(comm.rank() + 1);
    gpu.write(slice, sums);
    CHECK_ON_ALL_RANKS(same_bits(sums, expected));
  }
}

/// What SharedAllReduce says where the last rank's driver has this fault.
std::string refusal(Communicator& comm, const char* fault) {
  Gpu gpu;
  if (comm.rank() == comm.size() - 1) setenv("RUEDA_DRIVER_FAULT", fault, 1);
  const auto message = message_of<InputError>([&] { SharedAllReduce(comm, gpu.device, 100); });
  unsetenv("RUEDA_DRIVER_FAULT");
  return message;
}

TEST_CASE("GPUs that cannot map each other's memory are refused by all ranks") {
  Communicator comm;
  const std::string who = "rank " + std::to_string(comm.size() - 1) + " (" + comm.host() + ")";
  for (const auto& [fault, said] :
       {std::pair("open-fails", "cudaIpcOpenMemHandle failed: invalid argument"),
        std::pair("no-peer", "cudaErrorPeerAccessUnsupported"),
        std::pair("pool-memory", "cudaIpcGetMemHandle failed")}) {
    const auto message = refusal(comm, fault);
    CAPTURE(fault, message);
    const bool alone = comm.size() == 1;
    CHECK_ON_ALL_RANKS(alone ? message.empty() : message.starts_with(who));
    CHECK_ON_ALL_RANKS(alone || contains(message, said));
    CHECK_ON_ALL_RANKS(alone || contains(message, "give --all-reduce ring"));
  }
  CHECK_ON_ALL_RANKS(cudaGetLastError() == cudaSuccess);
  CHECK_ON_ALL_RANKS(refusal(comm, "").empty());
}

TEST_CASE("memory of another process is not mapped in a capture") {
  const Gpu gpu;
  cudaIpcMemHandle_t handle{};
  void* memory = nullptr;
  cudaGraph_t graph = nullptr;
  const cudaStream_t stream = gpu.compute.get();
  const bool begun =
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
  const cudaError_t code = cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess);
  const bool spoilt = cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated;
  static_cast<void>(cudaGetLastError());
  CHECK_ON_ALL_RANKS(begun && spoilt && code == cudaErrorStreamCaptureUnsupported);
}

}  // namespace
