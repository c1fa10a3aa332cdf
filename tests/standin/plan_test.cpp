#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/device/handles.hpp"
#include "gate.hpp"
#include "graph_run.hpp"
#include "standin.hpp"
#include "tests/cuda/device_vector.hpp"

// Descriptors, engines and plans: what is refused, what can be asked, what executing does.

namespace {

using Catch::Matchers::Contains;
using rueda::test::Cudnn;
using rueda::test::Desc;
using rueda::test::DeviceVector;
using rueda::test::make_graph;
using rueda::test::make_pack;
using rueda::test::make_plan;
using rueda::test::make_pointwise_operation;
using rueda::test::make_tensor;
using Floats = std::vector<float>;

const std::vector<std::int64_t> kFour = {1, 4, 1, 1};

/// y = -x, tensors 1 and 2.
Desc make_negation() {
  return make_pointwise_operation(CUDNN_POINTWISE_NEG, make_tensor(1, kFour),
                                  make_tensor(2, kFour));
}

std::int64_t integer_of(const Desc& desc, cudnnBackendAttributeName_t name) {
  std::int64_t value = -1;
  std::int64_t count = 0;
  rueda::test::check(
      cudnnBackendGetAttribute(desc.get(), name, CUDNN_TYPE_INT64, 1, &count, &value));
  CHECK(count == 1);
  return value;
}

std::vector<Desc> configs_of(const Desc& graph, cudnnBackendHeurMode_t mode) {
  Desc heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {graph})
      .set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {mode})
      .finish();
  std::vector<Desc> configs(10, Desc(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  std::vector<cudnnBackendDescriptor_t> raw;
  for (Desc& config : configs) {
    config = Desc(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(config.get());
  }
  std::int64_t count = 0;
  rueda::test::check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 10, &count,
                                              raw.data()));
  configs.resize(static_cast<std::size_t>(count), configs[0]);
  return configs;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const Desc& config) {
  const Desc engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  std::int64_t count = 0;
  rueda::test::check(cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  rueda::test::check(cudnnBackendGetAttribute(
      engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
      CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()));
  notes.resize(static_cast<std::size_t>(count));
  return notes;
}

struct Operands {
  explicit Operands(cudaStream_t stream) : x({1, 2, 3, 4}, stream), y(Floats(4), stream) {}
  DeviceVector<float> x, y;
};

}  // namespace

TEST_CASE("a descriptor says what it lacks, and what it was given wrongly") {
  Desc tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  CHECK_THROWS_WITH(tensor.finish(), Contains("BAD_PARAM") && Contains("TENSOR lacks attribute"));
  CHECK_THROWS_WITH(tensor.set<float>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, {1}),
                    Contains("type"));
  CHECK_THROWS_WITH(tensor.integers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {1}), Contains("no attribute"));
  CHECK_THROWS_WITH(make_tensor(1, {1, 4, 0, 1}), Contains("positive"));
  CHECK_THROWS_WITH(make_graph(nullptr, {Desc(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)}),
                    Contains("before it is finalised"));
  Desc finished = make_tensor(1, kFour);
  CHECK_THROWS_WITH(finished.integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {2}), Contains("already"));
}

TEST_CASE("a graph that cannot be put in order is refused") {
  const Cudnn cudnn;
  const auto made = [](std::int64_t id) {
    return make_tensor(id, kFour, {.is_virtual = true, .strides = {}});
  };
  const auto negate = [](const Desc& from, const Desc& to) {
    return make_pointwise_operation(CUDNN_POINTWISE_NEG, from, to);
  };
  CHECK_THROWS_WITH(
      make_graph(cudnn.handle(), {negate(made(1), made(2)), negate(made(2), made(1))}),
      Contains("wait for each other"));
  CHECK_THROWS_WITH(make_graph(cudnn.handle(), {negate(made(1), make_tensor(2, kFour))}),
                    Contains("nobody makes"));
  CHECK_THROWS_WITH(make_graph(cudnn.handle(), {make_negation(), make_negation()}),
                    Contains("two operations write"));
  CHECK_THROWS_WITH(
      make_graph(cudnn.handle(), {make_negation(), negate(make_tensor(1, {1, 2, 1, 1}),
                                                          make_tensor(3, {1, 2, 1, 1}))}),
      Contains("two ways"));
}

TEST_CASE("heuristics offer engines with notes, and more as a fallback") {
  const Cudnn cudnn;
  const Desc graph = make_graph(cudnn.handle(), {make_negation()});
  const auto configs = configs_of(graph, CUDNN_HEUR_MODE_A);
  REQUIRE(configs.size() == 2);
  CHECK(configs_of(graph, CUDNN_HEUR_MODE_FALLBACK).size() == 3);
  CHECK(integer_of(graph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT) == 3);
  CHECK(notes_of(configs[0]) ==
        std::vector<cudnnBackendNumericalNote_t>{CUDNN_NUMERICAL_NOTE_TENSOR_CORE});
  CHECK(notes_of(configs[1]) ==
        std::vector<cudnnBackendNumericalNote_t>{CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
                                                 CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC});
}

TEST_CASE("graphs of several operations can be made to have no engine") {
  const Cudnn cudnn;
  const Desc middle = make_tensor(3, kFour, {.is_virtual = true, .strides = {}});
  const Desc two =
      make_graph(cudnn.handle(),
                 {make_pointwise_operation(CUDNN_POINTWISE_NEG, make_tensor(1, kFour), middle),
                  make_pointwise_operation(CUDNN_POINTWISE_NEG, middle, make_tensor(2, kFour))});
  CHECK(configs_of(two, CUDNN_HEUR_MODE_A).size() == 2);
  rueda::standin_single_operation(true);
  CHECK_THROWS_WITH(configs_of(two, CUDNN_HEUR_MODE_A), Contains("NOT_SUPPORTED"));
  CHECK(configs_of(make_graph(cudnn.handle(), {make_negation()}), CUDNN_HEUR_MODE_A).size() == 2);
  rueda::standin_single_operation(false);
}

TEST_CASE("a plan is executed on the handle's stream and overwrites its workspace") {
  const Cudnn cudnn;
  const Operands operands(cudnn.stream());
  const DeviceVector<unsigned char> workspace(std::vector<unsigned char>(2049), cudnn.stream());
  const Desc plan = make_plan(cudnn.handle(), make_graph(cudnn.handle(), {make_negation()}), 2);
  CHECK(integer_of(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) == 2048);
  const Desc pack = make_pack({{1, operands.x.data()}, {2, operands.y.data()}}, workspace.data());
  {
    const rueda::test::Gate gate(cudnn.stream());
    CHECK(cudnnBackendExecute(cudnn.handle(), plan.get(), pack.get()) == CUDNN_STATUS_SUCCESS);
    CHECK(cudaStreamQuery(cudnn.stream()) == cudaErrorNotReady);
  }
  CHECK(operands.y.read() == Floats{-1, -2, -3, -4});
  const auto bytes = workspace.read();
  CHECK(bytes.front() != 0);
  CHECK(bytes[2047] != 0);
  CHECK(bytes[2048] == 0);
  static_cast<void>(cudaGetLastError());
}

TEST_CASE("a workspace that overlaps a tensor shows") {
  const Cudnn cudnn;
  const DeviceVector<float> memory(Floats(512, 1), cudnn.stream());
  const Desc plan = make_plan(cudnn.handle(), make_graph(cudnn.handle(), {make_negation()}), 1);
  const auto y_with = [&](float* x) {
    const DeviceVector<float> y(Floats(4), cudnn.stream());
    const Desc pack = make_pack({{1, x}, {2, y.data()}}, memory.data());
    rueda::test::check(cudnnBackendExecute(cudnn.handle(), plan.get(), pack.get()));
    return y.read();
  };
  CHECK(y_with(memory.data() + 252) != Floats(4, -1));
  CHECK(y_with(memory.data() + 256) == Floats(4, -1));
}

TEST_CASE("executing refuses pointers that no device could use") {
  const Cudnn cudnn;
  const Operands operands(cudnn.stream());
  Floats host(4);
  const Desc graph = make_graph(cudnn.handle(), {make_negation()});
  const auto execute = [&](std::int64_t engine, void* x, void* workspace) {
    const Desc pack = make_pack({{1, x}, {2, operands.y.data()}}, workspace);
    rueda::test::check(cudnnBackendExecute(
        cudnn.handle(), make_plan(cudnn.handle(), graph, engine).get(), pack.get()));
  };
  CHECK_NOTHROW(execute(0, operands.x.data(), nullptr));
  CHECK_THROWS_WITH(execute(0, host.data(), nullptr), Contains("tensor 1") && Contains("device"));
  CHECK_THROWS_WITH(execute(0, operands.x.data() + 1, nullptr), Contains("aligned"));
  CHECK_THROWS_WITH(execute(0, nullptr, nullptr), Contains("null"));
  CHECK_THROWS_WITH(execute(1, operands.x.data(), nullptr), Contains("workspace"));
  CHECK_THROWS_WITH(execute(1, operands.x.data(), operands.y.data()), Contains("workspace"));
  CHECK_THROWS_WITH(rueda::test::check(cudnnBackendExecute(
                        cudnn.handle(), make_plan(cudnn.handle(), graph, 0).get(),
                        make_pack({{1, operands.x.data()}}).get())),
                    Contains("not in the pack"));
}

TEST_CASE("a plan comes back from its text") {
  const Cudnn cudnn;
  const Operands operands(cudnn.stream());
  const Desc plan = make_plan(cudnn.handle(), make_graph(cudnn.handle(), {make_negation()}), 0);
  std::int64_t size = 0;
  const auto get = [&](std::int64_t requested, char* text) {
    rueda::test::check(cudnnBackendGetAttribute(plan.get(),
                                                CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                                CUDNN_TYPE_CHAR, requested, &size, text));
  };
  get(0, nullptr);
  std::vector<char> text(static_cast<std::size_t>(size));
  get(size, text.data());

  Desc copy(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  copy.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {cudnn.handle()})
      .set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, text)
      .finish();
  const Desc pack = make_pack({{1, operands.x.data()}, {2, operands.y.data()}});
  rueda::test::check(cudnnBackendExecute(cudnn.handle(), copy.get(), pack.get()));
  CHECK(operands.y.read() == Floats{-1, -2, -3, -4});
}

TEST_CASE("a captured plan runs with each launch of the graph") {
  const Cudnn cudnn;
  const Operands operands(cudnn.stream());
  const Desc plan = make_plan(cudnn.handle(), make_graph(cudnn.handle(), {make_negation()}), 0);
  const Desc pack = make_pack({{1, operands.x.data()}, {2, operands.y.data()}});
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(cudnn.stream(), cudaStreamCaptureModeGlobal) == cudaSuccess);
  rueda::test::check(cudnnBackendExecute(cudnn.handle(), plan.get(), pack.get()));
  CHECK(cudaStreamEndCapture(cudnn.stream(), &graph) == cudaSuccess);
  CHECK(operands.y.read() == Floats(4));
  CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
  const Floats next = {5, 6, 7, 8};
  CHECK(cudaMemcpyAsync(operands.x.data(), next.data(), 16, cudaMemcpyHostToDevice,
                        cudnn.stream()) == cudaSuccess);
  CHECK(cudaGraphLaunch(exec, cudnn.stream()) == cudaSuccess);
  CHECK(operands.y.read() == Floats{-5, -6, -7, -8});
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}
