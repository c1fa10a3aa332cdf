#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <vector>

#include <catch2/catch.hpp>

#include "../cuda/gate.hpp"
#include "cuda/device/handles.hpp"

// Streams of the stand-in work on their own, in order, and wait only for what they are asked to.

namespace {

using rueda::cuda::make_event;
using rueda::cuda::make_stream;
using rueda::test::Gate;

constexpr unsigned kFresh = 0xA5A5A5A5U;  // memory as it was allocated

std::future<cudaError_t> synchronize(cudaStream_t stream) {
  return std::async(std::launch::async, cudaStreamSynchronize, stream);
}

bool ends_soon(const std::future<cudaError_t>& call) {
  return call.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
}

/// Pinned memory for a number.
struct Pinned {
  rueda::cuda::PinnedMemory memory = rueda::cuda::make_pinned_memory(sizeof(unsigned));
  std::atomic<unsigned>& number = *static_cast<std::atomic<unsigned>*>(memory.get());
};

cudaError_t copy(void* to, const void* from, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, sizeof(unsigned), kind, stream);
}

struct Append {
  std::vector<int>* numbers;
  int number;
};

void append(void* what) {
  const auto& [numbers, number] = *static_cast<Append*>(what);
  numbers->push_back(number);
}

}  // namespace

TEST_CASE("work of a stream is done in order, also when the stream has been destroyed") {
  std::vector<int> numbers;
  std::vector<Append> appends;
  for (int i = 0; i < 100; ++i) appends.push_back({&numbers, i});
  std::promise<void> open;
  auto opened = open.get_future().share();
  const auto wait = [](void* it) { static_cast<std::shared_future<void>*>(it)->wait(); };
  {
    const auto stream = make_stream();
    CHECK(cudaLaunchHostFunc(stream.get(), wait, &opened) == cudaSuccess);
    for (Append& one : appends) {
      CHECK(cudaLaunchHostFunc(stream.get(), append, &one) == cudaSuccess);
    }
  }
  auto device = std::async(std::launch::async, cudaDeviceSynchronize);
  CHECK_FALSE(ends_soon(device));
  CHECK(numbers.empty());
  open.set_value();
  CHECK(device.get() == cudaSuccess);
  CHECK(numbers.size() == 100);
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST_CASE("a stream that does not wait reads what another has not written yet") {
  const auto writer = make_stream();
  const auto reader = make_stream();
  const auto memory = rueda::cuda::make_device_memory(sizeof(unsigned));
  const Pinned seen;
  Gate gate(writer.get());
  CHECK(cudaMemsetAsync(memory.get(), 7, sizeof(unsigned), writer.get()) == cudaSuccess);
  const auto written = make_event();
  CHECK(cudaEventRecord(written.get(), writer.get()) == cudaSuccess);
  const auto read = [&](cudaStream_t stream) {
    return copy(seen.memory.get(), memory.get(), cudaMemcpyDeviceToHost, stream);
  };
  for (const cudaStream_t stream : {reader.get(), cudaStream_t{}}) {  // the default one, too
    CHECK(read(stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(seen.number == kFresh);
  }
  CHECK(cudaStreamWaitEvent(reader.get(), written.get(), 0) == cudaSuccess);
  CHECK(read(reader.get()) == cudaSuccess);
  auto done = synchronize(reader.get());
  CHECK_FALSE(ends_soon(done));
  gate.open();
  CHECK(done.get() == cudaSuccess);
  CHECK(seen.number == 0x07070707U);
  CHECK(cudaEventSynchronize(written.get()) == cudaSuccess);
}

TEST_CASE("pageable memory has been read when a copy returns, pinned memory has not") {
  const auto stream = make_stream();
  const auto memory = rueda::cuda::make_device_memory(2 * sizeof(unsigned));
  auto* numbers = static_cast<unsigned*>(memory.get());
  const Pinned pinned;
  pinned.number = 1;
  unsigned pageable = 1;
  {
    const Gate gate(stream.get());
    CHECK(copy(numbers, pinned.memory.get(), cudaMemcpyHostToDevice, stream.get()) == cudaSuccess);
    CHECK(copy(numbers + 1, &pageable, cudaMemcpyHostToDevice, stream.get()) == cudaSuccess);
    pinned.number = pageable = 2;
  }
  unsigned result[2] = {};
  for (int i : {0, 1}) {
    CHECK(copy(result + i, numbers + i, cudaMemcpyDeviceToHost, stream.get()) == cudaSuccess);
  }
  CHECK(result[0] == 2);  // without waiting: the result is pageable
  CHECK(result[1] == 1);
}
