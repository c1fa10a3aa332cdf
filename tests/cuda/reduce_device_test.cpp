#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

#include "cuda/backend/cuda_reduce_device.hpp"
#include "device_tools.hpp"
#include "reduce/host_sums.hpp"

using namespace rueda::cuda;
using namespace rueda::test;

namespace {

constexpr std::size_t kLength = 100003;

std::span<float> span_of(const DeviceVector<float>& vector) { return {vector.data(), kLength}; }

void CUDART_CB sleep_a_while(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

void delay(cudaStream_t stream) {
  check(cudaLaunchHostFunc(stream, sleep_a_while, nullptr), "cudaLaunchHostFunc");
}

/// A device whose compute stream is slow to write 2 over the 1 of `slice`.
struct Bench {
  /// Queues the slow writing on the compute stream.
  void produce() {
    delay(compute.get());
    check(cudaMemcpyAsync(slice.data(), twos.data(), kLength * sizeof(float),
                          cudaMemcpyDeviceToDevice, compute.get()),
          "cudaMemcpyAsync");
  }
  /// Where `slice` holds another value, read at once by a stream that waits for no other.
  std::size_t first_other_than(float value) const {
    return first_difference(slice.read(), std::vector<float>(kLength, value));
  }

  rueda::cuda::Stream compute = rueda::cuda::make_stream();
  rueda::cuda::Stream reader = rueda::cuda::make_stream();
  CudaReduceDevice device{compute.get()};
  DeviceVector<float> slice{std::vector<float>(kLength, 1.0F), reader.get()};
  DeviceVector<float> twos{std::vector<float>(kLength, 2.0F), reader.get()};
};

std::vector<float> tenths() {
  std::vector<float> values(kLength);
  for (std::size_t i = 0; i < kLength; ++i) values[i] = 0.1F * float(i + 1);
  return values;
}

}  // namespace

TEST_CASE("a GPU adds and copies for the all-reduce", "[device]") {
  Bench bench;
  auto& device = bench.device;
  const std::vector<float> values = tenths();
  const auto host = device.host_scratch(kLength);
  std::copy(values.begin(), values.end(), host.begin());
  const auto scratch = device.scratch(kLength);
  device.copy(scratch, host);
  device.copy(span_of(bench.slice), scratch);
  device.add(span_of(bench.slice), scratch);  // twice the values
  device.add(span_of(bench.slice), scratch);
  device.copy(host, span_of(bench.slice));
  device.wait(device.record_own());
  std::vector<float> expected;
  for (const float v : values) expected.push_back((v + v) + v);
  CHECK(first_difference(std::vector<float>(host.begin(), host.end()), expected) == kNoDifference);
}

TEST_CASE("nothing to add or copy is no error", "[device]") {
  Bench bench;
  bench.device.add({}, {});
  bench.device.copy({}, {});
  bench.device.wait(bench.device.record());
  bench.device.wait({});
}

TEST_CASE("what a slow producer wrote is there after the wait", "[device]") {
  Bench bench;
  SECTION("by an event of both streams") {
    bench.produce();
    bench.device.wait(bench.device.record());
  }
  SECTION("by an event of the compute stream, as of a bucket") {
    bench.produce();
    bench.device.wait(bench.device.record_on(bench.compute.get()));
  }
  SECTION("waited for by another thread") {
    bench.produce();
    const auto event = bench.device.record();
    std::thread([&] { bench.device.wait(event); }).join();
  }
  CHECK(bench.first_other_than(2) == kNoDifference);
}

TEST_CASE("a wait that had to sleep leaves no error", "[device]") {
  Bench bench;
  bench.produce();
  bench.device.wait(bench.device.record());
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("the communication stream is waited for, too", "[device]") {
  Bench bench;
  const bool by_own_event = GENERATE(false, true);
  delay(bench.device.stream());
  bench.device.add(span_of(bench.slice), span_of(bench.twos));
  bench.device.wait(by_own_event ? bench.device.record_own() : bench.device.record());
  CHECK(bench.first_other_than(3) == kNoDifference);
}

TEST_CASE("own work does not wait for what is computed meanwhile", "[device]") {
  Bench bench;
  Gate gate(bench.compute.get());
  bench.device.add(span_of(bench.slice), span_of(bench.twos));
  bench.device.wait(bench.device.record_own());
  CHECK_FALSE(gate.gave_up());
  CHECK(bench.first_other_than(3) == kNoDifference);
  gate.open();
  bench.device.wait(bench.device.record());
  CHECK_FALSE(gate.gave_up());
}

TEST_CASE("a check sum is the host's, and waits for no addition", "[device]") {
  Bench bench;
  const std::vector<float> values = tenths();
  const DeviceVector<float> from(values, bench.reader.get());
  Gate gate(bench.device.stream());
  bench.device.add(span_of(bench.slice), span_of(bench.twos));
  const std::uint64_t expected = rueda::check_part(values, 0, kLength);
  CHECK(bench.device.check_sum(span_of(from)) == expected);
  CHECK(bench.device.check_sum(span_of(from).first(0)) == 0);
  CHECK(bench.device.check_sum(span_of(from)) == expected);
  CHECK_FALSE(gate.gave_up());
  gate.open();
  bench.device.wait(bench.device.record());
}

TEST_CASE("what is computed next waits for own work", "[device]") {
  Bench bench;
  for (int i = 0; i < 5; ++i) {  // longer than the producer
    delay(bench.device.stream());
  }
  bench.device.add(span_of(bench.twos), span_of(bench.slice));
  bench.device.others_wait();
  bench.produce();
  bench.device.wait(bench.device.record_on(bench.compute.get()));
  CHECK(bench.first_other_than(3) == kNoDifference);
}

TEST_CASE("scratch memory stays where it is until it grows", "[device]") {
  Bench bench;
  const auto first = bench.device.scratch(1000);
  CHECK(bench.device.scratch(10).data() == first.data());
  CHECK(bench.device.scratch(10).size() == 10);
  CHECK(bench.device.scratch(2000).size() == 2000);
  const auto host = bench.device.host_scratch(1000);
  CHECK(bench.device.host_scratch(10).data() == host.data());
  CHECK(bench.device.host_scratch(5000).size() == 5000);
}

TEST_CASE("MPI gets memory of the kinds that it needs", "[device]") {
  Bench bench;
  CHECK_FALSE(bench.device.memory_is_on_host());
  const auto type_of = [](std::span<float> memory) {
    cudaPointerAttributes attributes{};
    REQUIRE(cudaPointerGetAttributes(&attributes, memory.data()) == cudaSuccess);
    return attributes.type;
  };
  CHECK(type_of(bench.device.scratch(8)) == cudaMemoryTypeDevice);
  CHECK(type_of(bench.device.host_scratch(8)) == cudaMemoryTypeHost);
}

TEST_CASE("events are used again", "[device]") {
  Bench bench;
  for (int i = 0; i < 100; ++i) bench.device.wait(bench.device.record());
  CHECK(bench.device.events() == 2);
  const auto event = bench.device.record();
  bench.device.wait(event);
  bench.device.wait(event);  // has passed for good
  CHECK(bench.device.events() == 2);
}

TEST_CASE("an event that is not waited for does not pass on its parts", "[device]") {
  Bench bench;
  Gate gate(bench.compute.get());
  const auto early = bench.device.record_on(bench.compute.get());
  for (int i = 0; i < 10; ++i) bench.device.wait(bench.device.record_own());
  gate.open();
  bench.device.wait(early);
  CHECK_FALSE(gate.gave_up());
}

TEST_CASE("two threads record and wait at the same time", "[device]") {
  Bench bench;
  const auto many = [&] {
    for (int i = 0; i < 200; ++i) bench.device.wait(bench.device.record_own());
  };
  std::thread other(many);
  many();
  other.join();
  CHECK(bench.device.events() <= 2);
}

TEST_CASE("a GPU rounds, adds and widens for a bf16 wire as the host does", "[device]") {
  using rueda::kernels::Bfloat16;
  Bench bench;
  auto& device = bench.device;
  const std::vector<float> values = tenths();
  std::vector<float> sums(kLength, 2.0F);
  std::vector<Bfloat16> narrow(kLength);
  const auto host = device.host_scratch(kLength);
  const DeviceVector<float> from(values, bench.reader.get());
  const DeviceVector<float> into(sums, bench.reader.get());
  const auto wire = device.scratch(kLength / 2 + 1);
  const std::span<Bfloat16> on_wire(reinterpret_cast<Bfloat16*>(wire.data()), kLength);
  const auto read = [&](std::span<const float> memory) {
    device.copy(host, memory);
    device.wait(device.record());
    return std::vector<float>(host.begin(), host.end());
  };
  for (int round = 0; round < 2; ++round) {
    device.narrow(on_wire, span_of(from));
    device.add_narrow(span_of(into), on_wire);
    rueda::narrow_part(narrow, values, 0, kLength);
    rueda::add_narrow_part(sums, narrow, 0, kLength);
    CHECK(first_difference(read(span_of(into)), sums) == kNoDifference);
  }
  device.narrow(on_wire, span_of(from));
  device.widen(span_of(into), on_wire);
  rueda::narrow_part(narrow, values, 0, kLength);
  rueda::widen_part(sums, narrow, 0, kLength);
  CHECK(first_difference(read(span_of(into)), sums) == kNoDifference);
}
