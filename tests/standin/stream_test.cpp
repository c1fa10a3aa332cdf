#include <algorithm>
#include <atomic>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/device/handles.hpp"
#include "gate.hpp"
#include "happens.hpp"
#include "pinned.hpp"
#include "standin.hpp"
#include "tests/standin/runtime/settings.hpp"

// Streams of the stand-in work on their own, in order, and wait only where they are told to.

namespace {

using rueda::cuda::make_event;
using rueda::cuda::make_stream;
using rueda::test::Gate;
using rueda::test::happens;
using rueda::test::kMoment;
using rueda::test::Pinned;

/// What the stream's threads count, in the order in which they do.
struct Counter {
  std::atomic<int> count{0};
};

void add_one(void* counter) { ++static_cast<Counter*>(counter)->count; }

cudaError_t add(cudaStream_t stream, Counter& counter) {
  return cudaLaunchHostFunc(stream, add_one, &counter);
}

bool is_idle(cudaStream_t stream) { return cudaStreamQuery(stream) == cudaSuccess; }

struct Append {
  std::vector<int>* numbers;
  int number;
};

void append(void* what) {
  const auto& [numbers, number] = *static_cast<Append*>(what);
  numbers->push_back(number);
}

}  // namespace

TEST_CASE("work of a stream is done in order") {
  const auto stream = make_stream();
  std::vector<int> numbers;
  std::vector<Append> appends;
  for (int i = 0; i < 100; ++i) appends.push_back({&numbers, i});
  for (Append& one : appends) {
    CHECK(cudaLaunchHostFunc(stream.get(), append, &one) == cudaSuccess);
  }
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(numbers.size() == 100);
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST_CASE("a stream is idle when its last work is done, and not before") {
  const auto stream = make_stream();
  Counter counter;
  Gate first(stream.get());
  CHECK(add(stream.get(), counter) == cudaSuccess);
  Gate second(stream.get());
  CHECK_FALSE(happens([&] { return counter.count == 1; }, kMoment));
  first.open();
  CHECK(happens([&] { return counter.count == 1; }));
  CHECK(cudaStreamQuery(stream.get()) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaSuccess);
  second.open();
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(cudaStreamQuery(stream.get()) == cudaSuccess);
}

TEST_CASE("a stream that does not wait reads what another has not written yet") {
  const auto writer = make_stream();
  const auto reader = make_stream();
  const auto memory = rueda::cuda::make_device_memory(4);
  Pinned<unsigned> seen(1);
  Gate gate(writer.get());
  CHECK(cudaMemsetAsync(memory.get(), 7, 4, writer.get()) == cudaSuccess);
  const auto written = make_event();
  CHECK(cudaEventRecord(written.get(), writer.get()) == cudaSuccess);

  const auto read = [&] {
    return cudaMemcpyAsync(seen.data(), memory.get(), 4, cudaMemcpyDeviceToHost, reader.get());
  };
  CHECK(read() == cudaSuccess);
  CHECK(cudaStreamSynchronize(reader.get()) == cudaSuccess);
  CHECK(seen[0] == 0xA5A5A5A5U);  // as it was allocated
  CHECK(cudaEventQuery(written.get()) == cudaErrorNotReady);

  CHECK(cudaStreamWaitEvent(reader.get(), written.get(), 0) == cudaSuccess);
  CHECK(read() == cudaSuccess);
  CHECK_FALSE(happens([&] { return is_idle(reader.get()); }, kMoment));
  gate.open();
  CHECK(cudaStreamSynchronize(reader.get()) == cudaSuccess);
  CHECK(seen[0] == 0x07070707U);
  CHECK(cudaEventQuery(written.get()) == cudaSuccess);
}

TEST_CASE("a delay before each item shows that the host did not wait") {
  const auto stream = make_stream();
  const auto memory = rueda::cuda::make_device_memory(4);
  Pinned<unsigned> seen(1);
  seen[0] = 1;
  std::promise<void> delay;
  std::atomic<bool> delayed{false};
  rueda::standin_before_item([&, future = delay.get_future().share()] {
    delayed = true;
    future.wait();
  });
  CHECK(cudaMemcpyAsync(seen.data(), memory.get(), 4, cudaMemcpyDeviceToHost, stream.get()) ==
        cudaSuccess);
  CHECK(happens([&] { return delayed.load(); }));
  CHECK(seen[0] == 1);
  delay.set_value();
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  rueda::standin_before_item({});
  CHECK(seen[0] == 0xA5A5A5A5U);
}

TEST_CASE("delays vary around their mean and are the same for the same seed") {
  std::set<std::size_t> delays;
  for (std::size_t item = 0; item < 100; ++item) {
    const std::size_t delay = rueda::standin::delay_us(1000, 1, item);
    CHECK(delay >= 500);
    CHECK(delay <= 1500);
    CHECK(delay == rueda::standin::delay_us(1000, 1, item));
    delays.insert(delay);
  }
  CHECK(delays.size() > 80);
  CHECK(rueda::standin::delay_us(1000, 2, 0) != rueda::standin::delay_us(1000, 1, 0));
}

TEST_CASE("the legacy stream and blocking streams wait for each other") {
  cudaStream_t blocking = nullptr;
  CHECK(cudaStreamCreate(&blocking) == cudaSuccess);
  const rueda::cuda::Stream owner(blocking);
  const auto independent = make_stream();
  Counter counter;
  Gate gate(blocking);
  Gate other(independent.get());
  CHECK(add(nullptr, counter) == cudaSuccess);
  CHECK_FALSE(happens([&] { return counter.count == 1; }, kMoment));
  gate.open();
  CHECK(happens([&] { return counter.count == 1; }));  // although `independent` is not done
  other.open();

  Gate second(nullptr);
  CHECK(add(blocking, counter) == cudaSuccess);
  CHECK(cudaStreamSynchronize(independent.get()) == cudaSuccess);
  CHECK_FALSE(happens([&] { return is_idle(blocking); }, kMoment));
  second.open();
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(counter.count == 2);
}

TEST_CASE("work goes on when its stream is destroyed, and the device waits for it") {
  std::promise<void> open;
  auto future = open.get_future().share();
  Counter counter;
  {
    const auto stream = make_stream();
    const auto wait = [](void* it) { static_cast<std::shared_future<void>*>(it)->wait(); };
    CHECK(cudaLaunchHostFunc(stream.get(), wait, &future) == cudaSuccess);
    CHECK(add(stream.get(), counter) == cudaSuccess);
  }
  auto device = std::async(std::launch::async, cudaDeviceSynchronize);
  CHECK(device.wait_for(kMoment) == std::future_status::timeout);
  open.set_value();
  CHECK(device.get() == cudaSuccess);
  CHECK(counter.count == 1);
}

TEST_CASE("pageable memory has been read when a copy returns, pinned memory has not") {
  const auto stream = make_stream();
  const auto memory = rueda::cuda::make_device_memory(8);
  auto* bytes = static_cast<unsigned char*>(memory.get());
  Pinned<unsigned> pinned(1);
  pinned[0] = 1;
  std::vector<unsigned> pageable = {1};
  {
    Gate gate(stream.get());
    CHECK(cudaMemcpyAsync(bytes, pinned.data(), 4, cudaMemcpyHostToDevice, stream.get()) ==
          cudaSuccess);
    CHECK(cudaMemcpyAsync(bytes + 4, pageable.data(), 4, cudaMemcpyHostToDevice, stream.get()) ==
          cudaSuccess);
    pinned[0] = pageable[0] = 2;
  }
  std::vector<unsigned> result(2);
  CHECK(cudaMemcpyAsync(result.data(), bytes, 8, cudaMemcpyDeviceToHost, stream.get()) ==
        cudaSuccess);
  CHECK(result == std::vector<unsigned>{2, 1});  // without waiting: the result is pageable
}

TEST_CASE("time passes between events, and only those that keep it tell it") {
  const auto stream = make_stream();
  cudaEvent_t first = nullptr;
  cudaEvent_t second = nullptr;
  CHECK(cudaEventCreate(&first) == cudaSuccess);
  CHECK(cudaEventCreate(&second) == cudaSuccess);
  const rueda::cuda::Event owner_of_first(first);
  const rueda::cuda::Event owner_of_second(second);
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, first, second) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(first, stream.get()) == cudaSuccess);
  {
    Gate gate(stream.get());
    CHECK(cudaEventRecord(second, stream.get()) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, first, second) == cudaErrorNotReady);
  }
  CHECK(cudaEventElapsedTime(&ms, first, second) == cudaSuccess);
  CHECK(ms > 0);
  const auto untimed = make_event();
  CHECK(cudaEventRecord(untimed.get(), stream.get()) == cudaSuccess);
  CHECK(cudaEventSynchronize(untimed.get()) == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, first, untimed.get()) == cudaErrorInvalidResourceHandle);
}
