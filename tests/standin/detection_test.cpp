#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cublas_v2.h>

#include "../cuda/device_tools.hpp"
#include "../support/common.hpp"
#include "cuda/backend/cuda_stager.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"
#include "standin.hpp"

// That the stand-in sees mistakes: work that is not waited for, captures that would fail, memory
// that no device could use, graphs that make no sense. That it computes rightly is seen by the
// tests of the backend (tests/backend), which run on it.

namespace {

using Catch::Contains;
using namespace rueda::cuda;
using namespace rueda::test;
using Floats = std::vector<float>;

constexpr unsigned kFresh = 0xA5A5A5A5U;  // memory as it was allocated

void do_nothing(void*) {}

void begin(cudaStream_t stream) {
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
}

/// Ends a capture that has failed. Its streams are free then.
void end(cudaStream_t stream, cudaError_t code = cudaErrorStreamCaptureInvalidated) {
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == code);
  CHECK(graph == nullptr);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  static_cast<void>(cudaGetLastError());
}

struct DestroyGraph {
  void operator()(cudaGraphExec_t exec) const { static_cast<void>(cudaGraphExecDestroy(exec)); }
};

/// A graph without nodes.
std::unique_ptr<CUgraphExec_st, DestroyGraph> record_nothing(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  begin(stream);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  return std::unique_ptr<CUgraphExec_st, DestroyGraph>(exec);
}

/// Pinned memory for a number.
struct Pinned {
  rueda::cuda::PinnedMemory memory = rueda::cuda::make_pinned_memory(sizeof(unsigned));
  std::atomic<unsigned>& number = *static_cast<std::atomic<unsigned>*>(memory.get());
};

cudaError_t copy(void* to, const void* from, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, sizeof(unsigned), kind, stream);
}

}  // namespace

TEST_CASE("a stream that does not wait reads what another has not written yet") {
  const auto writer = make_stream();
  const auto reader = make_stream();
  const auto memory = make_device_memory(sizeof(unsigned));
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
  auto done = std::async(std::launch::async, cudaStreamSynchronize, reader.get());
  CHECK(done.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  gate.open();
  CHECK(done.get() == cudaSuccess);
  CHECK(seen.number == 0x07070707U);
}

TEST_CASE("pageable memory has been read when a copy returns, pinned memory has not") {
  const auto stream = make_stream();
  const auto memory = make_device_memory(2 * sizeof(unsigned));
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
  for (const unsigned i : {0U, 1U}) {
    unsigned result = 0;
    CHECK(copy(&result, numbers + i, cudaMemcpyDeviceToHost, stream.get()) == cudaSuccess);
    CHECK(result == 2 - i);  // without waiting: the result is pageable
  }
}

TEST_CASE("an upload waits for the delivery that reads its slot") {
  const auto compute = make_stream();
  CudaStager stager({.bf16 = false, .channels_last = true}, 8, 1, compute.get());
  const std::size_t bytes = stager.format().image_bytes(8);
  const auto input = make_device_memory(bytes), labels = make_device_memory(sizeof(std::int32_t));
  const auto upload = [&](int value) {
    std::memset(stager.input(0), value, bytes);
    stager.upload(0, 1);
  };
  upload(1);
  stager.wait(0);
  Gate gate(compute.get());
  stager.deliver(0, static_cast<std::byte*>(input.get()), static_cast<std::int32_t*>(labels.get()));
  upload(2);
  auto arrived = std::async(std::launch::async, [&] { stager.wait(0); });
  CHECK(arrived.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  gate.open();
  arrived.get();
  std::vector<unsigned char> got(bytes);
  CHECK(cudaMemcpyAsync(got.data(), input.get(), bytes, cudaMemcpyDeviceToHost, compute.get()) ==
        cudaSuccess);
  CHECK(got == std::vector<unsigned char>(bytes, 1));
}

TEST_CASE("what is forbidden in a capture fails and makes it invalid") {
  const auto stream = make_stream();
  const auto other = make_stream();
  const auto event = make_event();
  const auto outside = make_event();
  CHECK(cudaEventRecord(outside.get(), other.get()) == cudaSuccess);
  void* memory = nullptr;
  struct Call {
    std::function<cudaError_t()> call;
    cudaError_t code = cudaErrorStreamCaptureUnsupported;
  };
  const auto in_another_thread = [&] {
    return std::async(std::launch::async, cudaStreamSynchronize, stream.get()).get();
  };
  const auto on_event_of_capture = [&] {
    CHECK(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
    return cudaEventSynchronize(event.get());
  };
  const auto all_in_another_thread = [] {
    return std::async(std::launch::async, cudaDeviceSynchronize).get();
  };
  const auto device = make_device_memory(4);
  const auto pageable = std::make_unique<unsigned>();
  const auto recorded = record_nothing(other.get());
  void* spare = nullptr;
  CHECK(cudaMalloc(&spare, 4) == cudaSuccess);
  const auto on_other_device = [] {
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices) == cudaSuccess);
    CHECK(cudaSetDevice(devices - 1) == cudaSuccess);
    const cudaError_t code = cudaDeviceSynchronize();
    CHECK(cudaSetDevice(0) == cudaSuccess);
    return code;
  };
  for (const Call& c :
       {Call{[&] { return cudaMalloc(&memory, 4); }}, Call{[&] { return cudaFree(spare); }},
        Call{on_other_device}, Call{[&] { return cudaStreamSynchronize(other.get()); }},
        Call{[&] { return cudaHostAlloc(&memory, 4, cudaHostAllocDefault); }}, Call{[&] {
          return copy(device.get(), pageable.get(), cudaMemcpyHostToDevice, stream.get());
        }},
        Call{[&] {
          return copy(pageable.get(), device.get(), cudaMemcpyDeviceToHost, stream.get());
        }},
        Call{[&] { return cudaMemcpy(pageable.get(), device.get(), 4, cudaMemcpyDeviceToHost); }},
        Call{[&] { return cudaGraphLaunch(recorded.get(), stream.get()); }},
        Call{all_in_another_thread}, Call{[&] { return cudaStreamSynchronize(stream.get()); }},
        Call{[&] { return cudaEventSynchronize(outside.get()); }},
        Call{[&] { return cudaDeviceSynchronize(); }},
        Call{[&] { return cudaLaunchHostFunc(nullptr, do_nothing, nullptr); }},
        Call{in_another_thread}, Call{on_event_of_capture, cudaErrorCapturedEvent},
        Call{[&] { return cudaStreamWaitEvent(stream.get(), outside.get(), 0); },
             cudaErrorStreamCaptureIsolation}}) {
    begin(stream.get());
    CHECK(c.call() == c.code);
    CHECK(memory == nullptr);
    CHECK(cudaLaunchHostFunc(stream.get(), do_nothing, nullptr) ==
          cudaErrorStreamCaptureInvalidated);
    end(stream.get());
  }
  CHECK(cudaFree(spare) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(other.get(), event.get(), 0) == cudaErrorCapturedEvent);
  CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaErrorNotSupported);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("an event that has not passed says so, also as the last error") {
  const auto stream = make_stream();
  const auto event = make_event();
  CHECK(cudaEventQuery(event.get()) == cudaSuccess);  // never recorded
  std::promise<void> gate;
  const auto hold = [](void* g) { static_cast<std::promise<void>*>(g)->get_future().wait(); };
  CHECK(cudaLaunchHostFunc(stream.get(), hold, &gate) == cudaSuccess);
  CHECK(cudaEventRecord(event.get(), stream.get()) == cudaSuccess);
  CHECK(cudaEventQuery(event.get()) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  gate.set_value();
  CHECK(cudaEventSynchronize(event.get()) == cudaSuccess);
  CHECK(cudaEventQuery(event.get()) == cudaSuccess);
  CHECK(cudaEventQuery(nullptr) == cudaErrorInvalidResourceHandle);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("a stream that an event takes into a capture has to be brought back") {
  const auto origin = make_stream();
  const auto other = make_stream();
  const auto event = make_event();
  begin(origin.get());
  CHECK(cudaEventRecord(event.get(), origin.get()) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(other.get(), event.get(), 0) == cudaSuccess);
  CHECK(cudaLaunchHostFunc(other.get(), do_nothing, nullptr) == cudaSuccess);
  end(origin.get(), cudaErrorStreamCaptureUnjoined);
  CHECK(cudaStreamSynchronize(other.get()) == cudaSuccess);  // no part of it any more
}

TEST_CASE("copies stay within blocks and go where their kind says") {
  const auto memory = make_device_memory(16);
  const auto second = make_device_memory(16);
  std::vector<unsigned char> bytes(32);
  auto* const device = static_cast<unsigned char*>(memory.get());
  auto* const other = static_cast<unsigned char*>(second.get());
  auto* const host = bytes.data();
  struct Copy {
    unsigned char* to;
    unsigned char* from;
    std::size_t bytes;
    cudaMemcpyKind kind;
    bool valid;
  };
  for (const Copy& c : {Copy{device, host, 16, cudaMemcpyHostToDevice, true},
                        Copy{device + 8, host, 9, cudaMemcpyHostToDevice, false},
                        Copy{device, host, 16, cudaMemcpyDeviceToDevice, false},
                        Copy{host, device, 16, cudaMemcpyHostToDevice, false},
                        Copy{host, host + 16, 16, cudaMemcpyDeviceToHost, false},
                        Copy{other, device, 16, cudaMemcpyHostToDevice, false},
                        Copy{other, device, 16, cudaMemcpyDeviceToDevice, true},
                        Copy{other, device, 17, cudaMemcpyDefault, false}}) {
    CAPTURE(c.bytes, c.kind);
    CHECK(cudaMemcpyAsync(c.to, c.from, c.bytes, c.kind, nullptr) ==
          (c.valid ? cudaSuccess : cudaErrorInvalidValue));
  }
  CHECK(cudaMemsetAsync(device, 0, 17, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(host, 0, 4, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaFree(host) == cudaErrorInvalidValue);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("writing past a block is noticed when it is freed") {
  const std::size_t before = rueda::standin_memory().overruns;
  for (const std::size_t place : {99U, 100U}) {
    const auto memory = make_device_memory(100);
    static_cast<unsigned char*>(memory.get())[place] = 1;
  }
  CHECK(rueda::standin_memory().overruns == before + 1);
}

namespace {

const TensorSpec kFour{{1, 4, 1, 1}};

/// y = a + b, the tensors 3, 1 and 2.
void add_up(CudnnGraph& g) {
  g.binary(CUDNN_POINTWISE_ADD, g.tensor(1, kFour), g.tensor(2, kFour), g.tensor(3, kFour));
}

/// Plans of that, on a stream of their own.
struct Sum {
  Sum() {
    cudnnHandle_t raw = nullptr;
    rueda::cuda::check(cudnnCreate(&raw), "cudnnCreate");
    handle = rueda::cuda::CudnnHandle(raw);
    rueda::cuda::check(cudnnSetStream(raw, stream.get()), "cudnnSetStream");
    CudnnGraph sum;
    add_up(sum);
    graph = sum.finish({raw});
    plans = rueda::cuda::make_plans({raw}, graph, {});
  }
  void execute(std::size_t plan, const std::vector<std::pair<CudnnGraph::Tensor, void*>>& tensors,
               void* scratch) const {
    const Descriptor pack = rueda::cuda::bind_tensors(tensors, scratch);
    rueda::cuda::check(cudnnBackendExecute(handle.get(), plans[plan].plan.get(), pack.get()),
                       "cudnnBackendExecute");
  }
  Floats sum_of(std::size_t plan, float* first, void* scratch) const {
    execute(plan, {{1, first}, {2, b.data()}, {3, y.data()}}, scratch);
    return y.read();
  }

  rueda::cuda::Stream stream = make_stream();
  rueda::cuda::CudnnHandle handle;
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::vector<CudnnPlan> plans;
  DeviceVector<float> a{{1, 2, 3, 4}, stream.get()};
  DeviceVector<float> b{{10, 20, 30, 40}, stream.get()};
  DeviceVector<float> y{Floats(4), stream.get()};
  DeviceVector<float> workspace{Floats(1024), stream.get()};
};

}  // namespace

TEST_CASE("libraries are not opened in a capture, nor are plans made") {
  const auto stream = make_stream();
  const Sum sum;
  const auto invalidates = [&](const std::function<bool()>& fails) {
    begin(stream.get());
    CHECK(fails());
    end(stream.get());
  };
  cudnnHandle_t cudnn = nullptr;
  cublasHandle_t cublas = nullptr;
  invalidates([&] { return cudnnCreate(&cudnn) != CUDNN_STATUS_SUCCESS; });
  invalidates([&] { return cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS; });
  invalidates([&] { return cudnnDestroy(sum.handle.get()) != CUDNN_STATUS_SUCCESS; });
  invalidates(
      [&] { return rueda::cuda::make_plans({sum.handle.get()}, sum.graph, {.most = 1}).empty(); });
  CHECK(cublasCreate(&cublas) == CUBLAS_STATUS_SUCCESS);
  invalidates([&] { return cublasDestroy(cublas) != CUBLAS_STATUS_SUCCESS; });
  CHECK(cublasDestroy(cublas) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("a descriptor says what it lacks, and what it was given wrongly") {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  CHECK_THROWS_WITH(tensor.finalize(), Contains("BAD_PARAM") && Contains("TENSOR lacks attribute"));
  CHECK_THROWS_WITH(tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, 1.0F), Contains("type"));
  CHECK_THROWS_WITH(tensor.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, std::int64_t{1}),
                    Contains("no attribute"));
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  CHECK_THROWS_WITH(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, tensor),
                    Contains("before it is finalised"));
  CHECK_THROWS_WITH(CudnnGraph().tensor(1, {{1, 0, 1, 1}}), Contains("positive"));
}

TEST_CASE("operations whose shapes do not fit are refused") {
  CudnnGraph graph;
  const auto five = graph.tensor(2, {{1, 5, 1, 1}});
  CHECK_THROWS_WITH(graph.binary(CUDNN_POINTWISE_ADD, graph.tensor(1, kFour), five, 1),
                    Contains("shapes"));
  const auto image = [](std::int64_t channels, std::int64_t side) {
    return TensorSpec{{2, channels, side, side}};
  };
  CHECK_THROWS_WITH(graph.conv(rueda::cuda::ConvDirection::forward, graph.tensor(4, image(8, 3)),
                               graph.tensor(3, image(8, 7)), graph.tensor(5, image(2, 7)), {2, 1}),
                    Contains("shapes"));
}

TEST_CASE("the default tile of an engine is no plan where one of its tiles works") {
  const Sum sum;
  REQUIRE(sum.plans.size() == 2);
  CHECK(sum.plans[0].engine == "eng0{k2=1}");
  CHECK(sum.plans[1].engine == "eng1{k2=2}");
  // Where none does, it is.
  rueda::cuda::PlanFilter filter;
  filter.works = [](const CudnnPlan& plan) { return plan.engine != "eng1{k2=2}"; };
  const auto plans = rueda::cuda::make_plans({sum.handle.get()}, sum.graph, {}, filter);
  REQUIRE(plans.size() == 2);
  CHECK(plans[1].engine == "eng1{}");
}

TEST_CASE("an engine that does not compile or run is left out and named") {
  // Whether an engine runs is seen when it is timed.
  const bool tunes = GENERATE(false, true);
  const char* fault = tunes ? "RUEDA_STANDIN_NO_RUN" : "RUEDA_STANDIN_NO_COMPILE";
  const Sum other;  // for its handle and stream
  rueda::cuda::PlanStore store({other.handle.get()}, {});
  store.tune(tunes);
  setenv(fault, "0", 1);
  const CudnnPlan* plan = store.find("a sum", add_up);
  unsetenv(fault);
  REQUIRE(plan != nullptr);
  CHECK_THAT(plan->engine, !Contains("eng0"));
  CHECK(store.failures().size() == 1);
  CHECK_THAT(store.failures().at(0),
             Contains("eng0{k") && Contains("\"a sum\"") && Contains(fault));
  CHECK(store.times().size() == std::size_t(tunes));
}

TEST_CASE("an engine that does not run when it is tried is left out and named once") {
  const Sum sum;
  rueda::cuda::PlanStore store({sum.handle.get()}, {});
  const auto pack = [&](void* y) {
    return rueda::cuda::bind_tensors({{1, sum.a.data()}, {2, sum.b.data()}, {3, y}},
                                     sum.workspace.data());
  };
  const CudnnPlan* plan = store.find("good", add_up);
  for (const bool twice : {false, true})
    CHECK(store.runs(*plan, pack(twice ? nullptr : sum.y.data()), 1024));
  plan = store.find("bad", add_up);
  for (const bool twice : {false, true})
    CHECK(!store.runs(*plan, pack(twice ? sum.y.data() : nullptr), 1024));
  CHECK(store.find("bad", add_up) == nullptr);
  CHECK(!store.engines().contains("bad"));
  REQUIRE(store.failures().size() == 1);
  CHECK_THAT(store.failures().at(0), Contains("\"bad\"") && Contains("null pointer"));
}

TEST_CASE("in place of an engine that does not run comes the next whose workspace is there") {
  const Sum sum;
  const auto pack = rueda::cuda::bind_tensors(
      {{1, sum.a.data()}, {2, sum.b.data()}, {3, sum.y.data()}}, sum.workspace.data());
  rueda::cuda::PlanStore store({sum.handle.get()}, {});
  const bool is_chosen = GENERATE(false, true);  // by a tuning file
  if (is_chosen) store.use({{"a sum", "eng0{k2=1}"}});
  const std::size_t room = GENERATE(4096, 2048, 2047);
  const CudnnPlan* plan = store.find("a sum", add_up);
  REQUIRE(plan != nullptr);
  CHECK(plan->engine == "eng0{k2=1}");
  setenv("RUEDA_STANDIN_NO_RUN", "0", 1);
  const bool runs = store.runs(*plan, pack, room);
  unsetenv("RUEDA_STANDIN_NO_RUN");
  CHECK(runs == (room >= 2048));
  CHECK(store.find("a sum", add_up) == (runs ? plan : nullptr));
  REQUIRE(store.failures().size() == 1);
  CHECK_THAT(store.failures().at(0), Contains("eng0{k2=1} for \"a sum\""));
  if (!runs) return;
  CHECK(plan->engine == "eng1{k2=2}");
  CHECK(store.engines().at("a sum") == plan->engine);
  CHECK(cudnnBackendExecute(sum.handle.get(), plan->plan.get(), pack.get()) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(sum.y.read() == Floats{11, 22, 33, 44});
}

TEST_CASE("of engines that take about as long, the one with the fewest launches is the best") {
  using rueda::cuda::best_of;
  const PlanTime slow{1.03, 1}, fast{1, 3};
  CHECK(best_of(std::array{fast}) == 0);
  CHECK(best_of(std::array{slow, fast}) == 1);                // 3 % are no tie
  CHECK(best_of(std::array{fast, PlanTime{1.019, 1}}) == 1);  // within 2 %
  CHECK(best_of(std::array{PlanTime{1.021, 1}, fast}) == 1);  // beyond
  CHECK(best_of(std::array{PlanTime{1.019, 3}, fast}) == 1);  // as many: the faster
  CHECK(best_of(std::array{PlanTime{1.01, 2}, PlanTime{1.015, 1}, fast, slow}) == 1);
  CHECK(best_of(std::array{PlanTime{1, 2}, PlanTime{1, 2}}) == 0);  // alike: the first
}

TEST_CASE("what is timed is executed in a recording, whose launches are counted") {
  const Sum sum;
  rueda::cuda::PlanStore store({sum.handle.get()}, {.most = 3});
  store.tune(true);
  std::vector<cudaStreamCaptureStatus> seen;
  REQUIRE(store.find("a sum", add_up) != nullptr);
  const auto& times = store.times().at("a sum");
  REQUIRE(times.size() == 2);
  CHECK(times.at("eng0{k2=1}").launches == 2);  // one sets its workspace up
  CHECK(times.at("eng1{k2=2}").launches == 1);
  for (const auto& [engine, time] : times) CHECK(time.seconds > 0);
  const auto epilogue = [&](const auto&) {
    seen.emplace_back();
    CHECK(cudaStreamIsCapturing(sum.stream.get(), &seen.back()) == cudaSuccess);
  };
  CudnnGraph graph;
  add_up(graph);
  const auto time =
      rueda::cuda::time_plan(sum.handle.get(), sum.plans.at(1), graph, graph, epilogue);
  CHECK(time.launches == 1);
  // At first two by themselves, and then up to 20 in the graph.
  REQUIRE(seen.size() > 2);
  CHECK(seen.size() <= 22);
  for (std::size_t i = 0; i < seen.size(); ++i)
    CHECK(seen[i] == (i < 2 ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive));
}

TEST_CASE("work that was timed is reported at once") {
  const Sum other;  // for its handle and stream
  rueda::cuda::PlanStore store({other.handle.get()}, {});
  store.tune(true);
  std::vector<std::size_t> timed;
  store.when_timed([&] { timed.push_back(store.engines().size()); });
  for (const char* key : {"one", "another", "one"}) CHECK(store.find(key, add_up) != nullptr);
  store.tune(false);
  CHECK(store.find("a third", add_up) != nullptr);
  CHECK(timed == std::vector<std::size_t>{1, 2});
}

TEST_CASE("a plan that was put off is made of what another store compiled, or is compiled") {
  const Sum other;  // for its handle and stream
  rueda::cuda::PlanStore compiles({other.handle.get()}, {}, "GPU");
  rueda::cuda::PlanStore takes({other.handle.get()}, {}, "GPU");
  for (auto* store : {&compiles, &takes}) {
    store->put_off_compilation(true);
    for (const char* key : {"one", "two"}) {
      const CudnnPlan* plan = store->find(key, add_up);
      REQUIRE(plan != nullptr);
      CHECK(plan->put_off);
    }
    CHECK(store->put_off().size() == 2);
  }
  const auto titles = compiles.put_off();
  CHECK(titles == takes.put_off());
  const std::string text = compiles.compile(titles.at(0));
  CHECK_THAT(titles.at(0), Contains("\"one\" on GPU, cuDNN 9"));
  CHECK_THAT(text, Catch::StartsWith(titles.at(0)));
  CHECK(compiles.put_off() == std::vector{titles.at(1)});
  takes.restore_from(titles.at(0), text);
  takes.restore_from(titles.at(1), text);  // of another plan
  for (auto* store : {&compiles, &takes}) store->put_off_compilation(false);
  setenv("RUEDA_STANDIN_NO_COMPILE", "0", 1);
  for (auto* store : {&compiles, &takes}) {
    CHECK(store->find("one", add_up)->engine == "eng0{k2=1}");
    CHECK(store->find("two", add_up)->engine == "eng1{k2=2}");
  }
  unsetenv("RUEDA_STANDIN_NO_COMPILE");
  REQUIRE(takes.kept_notes().size() == 1);
  CHECK_THAT(takes.kept_notes().at(0), Contains("not this plan"));
}

namespace {

/// Queues what takes so long.
void take(std::chrono::milliseconds time, cudaStream_t stream) {
  const auto sleep = [](void* count) {
    std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(count)));
  };
  rueda::cuda::check(cudaLaunchHostFunc(stream, sleep, reinterpret_cast<void*>(time.count())),
                     "cudaLaunchHostFunc");
}

}  // namespace

TEST_CASE("an epilogue is left to a kernel that takes less time, also by a tuning file") {
  const Sum other;  // for its handle and stream
  // Whether the kernel takes long, and whether the fused plan needs a slower one.
  const auto [takes_long, needs_more] =
      GENERATE(std::pair(false, false), std::pair(true, false), std::pair(true, true));
  const bool slow = takes_long, rests = needs_more;  // lambdas take no structured bindings
  const auto big = [](CudnnGraph& g) {
    const TensorSpec spec{{1, 4, 256, 256}};
    const auto between = g.intermediate(spec);
    g.binary(CUDNN_POINTWISE_ADD, g.tensor(1, spec), g.tensor(2, spec), between);
    g.binary(CUDNN_POINTWISE_ADD, between, g.tensor(4, spec), g.tensor(3, spec));
  };
  const auto kernel = [&](const auto& at) {
    CHECK(at.size() == 4);
    if (slow) take(std::chrono::milliseconds(100), other.stream.get());
  };
  rueda::cuda::PlanStore store({other.handle.get()}, {});
  const auto* plain = store.find("plain", add_up);
  CHECK(!store.prefers_unfused(*store.find("untimed", big), *plain, kernel));
  store.tune(true);
  rueda::cuda::PlanStore::Epilogue rest;
  if (rests) rest = [&](const auto&) { take(std::chrono::milliseconds(300), other.stream.get()); };
  const bool prefers = !slow || rests;
  CHECK(store.prefers_unfused(*store.find("fused", big), *plain, kernel, rest) == prefers);
  CHECK((store.find("fused", big) == nullptr) == prefers);
  CHECK(store.times().at("fused").at("unfused").seconds > 0);
  CHECK(store.times().at("fused").at("unfused").launches == 2 + int(slow));
  rueda::cuda::PlanStore again({other.handle.get()}, {});
  again.use(store.engines());
  CHECK((again.find("fused", big) == nullptr) == prefers);
  CHECK(again.find("plain", add_up) != nullptr);
}

TEST_CASE("a compiled plan is kept in a file, which is read only if it is whole and fits") {
  const Sum other;  // for its handle and stream
  const ScratchDirectory folder;
  std::vector<std::string> notes;
  const auto engine_on = [&](const char* gpu) {
    rueda::cuda::PlanStore store({other.handle.get()}, {}, gpu);
    store.keep_in(folder.path());
    const std::string engine = store.find("a sum", add_up)->engine;
    notes = store.kept_notes();
    return engine.substr(0, 4);
  };
  CHECK(engine_on("GPU") == "eng0");
  CHECK_THAT(notes.at(0), Contains("not there"));
  const auto file = std::filesystem::directory_iterator(folder.path())->path();
  setenv("RUEDA_STANDIN_NO_COMPILE", "0", 1);
  CHECK(engine_on("GPU") == "eng0");
  CHECK(notes.empty());
  CHECK(engine_on("another GPU") == "eng1");
  std::ofstream(file, std::ios::app) << "x";
  CHECK(engine_on("GPU") == "eng1");
  CHECK_THAT(notes.at(0), Contains("not this plan"));
  unsetenv("RUEDA_STANDIN_NO_COMPILE");
  CHECK(engine_on("GPU") == "eng0");  // compiled anew
}

TEST_CASE("device memory is no better aligned than CUDA promises, and workspaces need that") {
  for (const std::size_t bytes : {1, 256, 512, 5000}) {
    const auto memory = make_device_memory(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % 512 == 256);
  }
  const Sum sum;
  const DeviceVector<float> memory(Floats(2048, 1), sum.stream.get());
  CHECK_THROWS_WITH(sum.sum_of(1, sum.a.data(), memory.data() + 32), Contains("not aligned"));
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetWorkspace(handle, memory.data() + 32, 1024) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSetWorkspace(handle, memory.data() + 64, 1024) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("a workspace that overlaps a tensor shows") {
  const Sum sum;
  const DeviceVector<float> memory(Floats(1024, 1), sum.stream.get());
  CHECK(sum.sum_of(1, memory.data() + 508, memory.data()) != Floats{11, 21, 31, 41});
  CHECK(sum.sum_of(1, memory.data() + 512, memory.data()) == Floats{11, 21, 31, 41});
}

TEST_CASE("executing refuses pointers that no device could use") {
  const Sum sum;
  Floats host(4);
  float* const a = sum.a.data();
  struct Case {
    std::size_t plan;
    float* a;
    void* workspace;
    const char* words;
  };
  CHECK(sum.sum_of(0, a, sum.workspace.data()) == Floats{11, 22, 33, 44});
  for (const Case& c : {Case{0, host.data(), sum.workspace.data(),
                             "tensor 1 does not lie wholly in memory of the device"},
                        Case{0, a + 1, sum.workspace.data(), "aligned"},
                        Case{0, nullptr, sum.workspace.data(), "null"},
                        Case{1, a, nullptr, "workspace"}, Case{1, a, sum.y.data(), "workspace"}}) {
    CHECK_THROWS_WITH(sum.sum_of(c.plan, c.a, c.workspace), Contains(c.words));
  }
  CHECK_THROWS_WITH(sum.execute(0, {{1, a}}, nullptr), Contains("not in the pack"));
  CHECK_THROWS_WITH(sum.execute(0, {{0, a}}, nullptr), Contains("never set"));
}

TEST_CASE("statistics in a graph: sums and sums of squares are added to what is there") {
  const Sum other;  // for its handle and stream
  const auto tensor = [](std::int64_t id, const std::vector<std::int64_t>& dims) {
    const std::vector strides = {dims[1] * dims[2] * dims[3], std::int64_t{1}, dims[1] * dims[3],
                                 dims[1]};
    Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span(dims));
    made.set(CUDNN_ATTR_TENSOR_STRIDES, std::span(std::as_const(strides)));
    made.finalize();
    return made;
  };
  Descriptor stats(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  const auto mode = CUDNN_GENSTATS_SUM_SQSUM;
  CHECK(cudnnBackendSetAttribute(stats.get(), CUDNN_ATTR_OPERATION_GENSTATS_MODE,
                                 CUDNN_TYPE_GENSTATS_MODE, 1, &mode) == CUDNN_STATUS_SUCCESS);
  stats.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
  stats.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, tensor(1, {1, 2, 2, 2}));
  stats.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, tensor(2, {1, 2, 1, 1}));
  stats.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, tensor(3, {1, 2, 1, 1}));
  stats.finalize();
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, stats);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, other.handle.get());
  graph.finalize();
  const auto plans = rueda::cuda::make_plans({other.handle.get()}, graph, {.most = 1});
  const auto on_device = [&](const Floats& v) {
    return DeviceVector<float>(v, other.stream.get());
  };
  const auto x = on_device({1, 0, 3, 0, 1, 4, 3, 4});
  const auto sums = on_device({-1, -1}), squares = on_device({-1, -1});
  const Descriptor pack = rueda::cuda::bind_tensors(
      {{1, x.data()}, {2, sums.data()}, {3, squares.data()}}, other.workspace.data());
  CHECK(cudnnBackendExecute(other.handle.get(), plans.at(0).plan.get(), pack.get()) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(sums.read() == Floats{7, 7});
  CHECK(squares.read() == Floats{19, 31});
}
