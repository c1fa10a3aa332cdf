#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "../cuda/gate.hpp"
#include "cuda/device/handles.hpp"
#include "runtime/settings.hpp"
#include "standin.hpp"
#include "tests/standin/runtime/settings.hpp"

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

TEST_CASE("streams that the default stream would wait for are not known") {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamDefault) == cudaErrorNotSupported);
  CHECK(cudaGetLastError() == cudaErrorNotSupported);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("a delay before each item shows that the host did not wait") {
  const auto stream = make_stream();
  const auto memory = rueda::cuda::make_device_memory(sizeof(unsigned));
  const Pinned seen;
  seen.number = 1;
  std::promise<void> delay, delayed;
  rueda::standin_before_item([&, future = delay.get_future().share()] {
    delayed.set_value();
    future.wait();
  });
  CHECK(copy(seen.memory.get(), memory.get(), cudaMemcpyDeviceToHost, stream.get()) == cudaSuccess);
  delayed.get_future().wait();
  CHECK(seen.number == 1);
  delay.set_value();
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  rueda::standin_before_item({});
  CHECK(seen.number == kFresh);
}

TEST_CASE("delays vary around their mean and are the same for the same seed") {
  std::set<std::size_t> delays;
  for (std::size_t item = 0; item < 100; ++item) {
    const std::size_t delay = rueda::standin::delay_us(1000, 1, item);
    CHECK((delay >= 500 && delay <= 1500));
    CHECK(delay == rueda::standin::delay_us(1000, 1, item));
    delays.insert(delay);
  }
  CHECK(delays.size() > 80);
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

TEST_CASE("time passes between events, and only those that keep it know it") {
  const auto stream = make_stream();
  const auto first = rueda::cuda::make_timing_event();
  const auto second = rueda::cuda::make_timing_event();
  const auto untimed = make_event();
  float ms = -1;
  const auto elapsed = [&](const rueda::cuda::Event& end) {
    return cudaEventElapsedTime(&ms, first.get(), end.get());
  };
  CHECK(elapsed(second) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(first.get(), stream.get()) == cudaSuccess);
  {
    const Gate gate(stream.get());
    CHECK(cudaEventRecord(second.get(), stream.get()) == cudaSuccess);
    CHECK(cudaEventRecord(untimed.get(), stream.get()) == cudaSuccess);
    CHECK(elapsed(second) == cudaErrorNotReady);
  }
  CHECK(elapsed(second) == cudaSuccess);
  CHECK(ms > 0);
  CHECK(elapsed(untimed) == cudaErrorInvalidResourceHandle);
}
