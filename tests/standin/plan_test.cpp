#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../cuda/device_vector.hpp"
#include "../cuda/gate.hpp"
#include "cuda/cudnn/cudnn_plan.hpp"

// Descriptors, engines and plans: what is refused, and what executing does. What the operations
// give is tested with the backend (tests/backend).

namespace {

using Catch::Matchers::Contains;
using rueda::cuda::check;
using rueda::cuda::CudnnGraph;
using rueda::cuda::CudnnPlan;
using rueda::cuda::Descriptor;
using rueda::cuda::TensorSpec;
using rueda::test::DeviceVector;
using rueda::test::Gate;
using Floats = std::vector<float>;
using Pointers = std::vector<std::pair<CudnnGraph::Tensor, void*>>;

/// A handle of cuDNN's on a stream of its own, and four numbers in three places.
struct Bench {
  Bench() {
    cudnnHandle_t raw = nullptr;
    check(cudnnCreate(&raw), "cudnnCreate");
    handle = rueda::cuda::CudnnHandle(raw);
    check(cudnnSetStream(raw, stream.get()), "cudnnSetStream");
  }
  std::vector<CudnnPlan> plans(CudnnGraph graph) {
    graphs.push_back(graph.finish({handle.get()}));
    return rueda::cuda::make_plans({handle.get()}, graphs.back(), {});
  }
  void execute(const CudnnPlan& plan, const Pointers& tensors, void* workspace = nullptr) const {
    const Descriptor pack = rueda::cuda::bind_tensors(tensors, workspace);
    check(cudnnBackendExecute(handle.get(), plan.plan.get(), pack.get()), "cudnnBackendExecute");
  }
  Pointers operands(void* first) const { return {{1, first}, {2, b.data()}, {3, y.data()}}; }

  rueda::cuda::Stream stream = rueda::cuda::make_stream();
  rueda::cuda::CudnnHandle handle;
  std::vector<Descriptor> graphs;
  DeviceVector<float> a{{1, 2, 3, 4}, stream.get()};
  DeviceVector<float> b{{10, 20, 30, 40}, stream.get()};
  DeviceVector<float> y{Floats(4), stream.get()};
};

const TensorSpec kFour = rueda::cuda::per_channel(4);

void add(CudnnGraph& graph, CudnnGraph::Tensor a, CudnnGraph::Tensor b, CudnnGraph::Tensor y) {
  graph.binary(CUDNN_POINTWISE_ADD, a, b, y);
}

/// y = a + b: tensors 1, 2 and 3.
CudnnGraph sum_graph() {
  CudnnGraph graph;
  add(graph, graph.tensor(1, kFour), graph.tensor(2, kFour), graph.tensor(3, kFour));
  return graph;
}

/// y = (a + b) + b.
CudnnGraph two_sums() {
  CudnnGraph graph;
  const auto middle = graph.intermediate(kFour);
  add(graph, graph.tensor(1, kFour), graph.tensor(2, kFour), middle);
  add(graph, middle, 2, graph.tensor(3, kFour));
  return graph;
}

}  // namespace

TEST_CASE("a descriptor says what it lacks, and what it was given wrongly") {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  CHECK_THROWS_WITH(tensor.finalize(), Contains("BAD_PARAM") && Contains("TENSOR lacks attribute"));
  CHECK_THROWS_WITH(tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, 1.0F), Contains("type"));
  CHECK_THROWS_WITH(tensor.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, std::int64_t{1}),
                    Contains("no attribute"));
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  CHECK_THROWS_WITH(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, tensor),
                    Contains("before it is finalised"));
  CHECK_THROWS_WITH(CudnnGraph().tensor(1, rueda::cuda::per_channel(0)), Contains("positive"));
}

TEST_CASE("operations whose shapes do not fit are refused") {
  const TensorSpec five = rueda::cuda::per_channel(5);
  CudnnGraph graph;
  CHECK_THROWS_WITH(add(graph, graph.tensor(1, kFour), graph.tensor(2, five), 1),
                    Contains("shapes"));
  const auto image = [](std::int64_t channels, std::int64_t side) {
    return rueda::cuda::channels_last({2, channels, side, side}, CUDNN_DATA_FLOAT);
  };
  CHECK_THROWS_WITH(graph.conv(rueda::cuda::ConvDirection::forward, graph.tensor(4, image(8, 3)),
                               graph.tensor(3, image(8, 7)), graph.tensor(5, image(2, 7)), {2, 1}),
                    Contains("shapes"));
}

TEST_CASE("a graph that cannot be put in order is refused") {
  struct Case {
    const char* words;
    std::function<void(CudnnGraph&, CudnnGraph::Tensor, CudnnGraph::Tensor)> add_operations;
  };
  const Case c =
      GENERATE(Case{"wait for each other",
                    [](CudnnGraph& g, auto v, auto w) {
                      add(g, v, 1, w);
                      add(g, w, 1, v);
                    }},
               Case{"no operation makes", [](CudnnGraph& g, auto v, auto) { add(g, v, 1, 2); }},
               Case{"two operations write", [](CudnnGraph& g, auto, auto) {
                      add(g, 1, 1, 2);
                      add(g, 1, 1, 2);
                    }});
  const Bench bench;
  CudnnGraph graph;
  graph.tensor(1, kFour);
  graph.tensor(2, kFour);
  const auto first = graph.intermediate(kFour);
  c.add_operations(graph, first, graph.intermediate(kFour));
  CHECK_THROWS_WITH(graph.finish({bench.handle.get()}), Contains(c.words));
}

TEST_CASE("heuristics offer engines, and more as a fallback") {
  Bench bench;
  const auto plans = bench.plans(sum_graph());
  std::vector<std::string> engines;
  for (const CudnnPlan& plan : plans) engines.push_back(plan.engine.substr(0, 4));
  CHECK(engines == std::vector<std::string>{"eng0", "eng1", "eng0", "eng1", "eng2"});
  CHECK(plans[0].workspace_bytes == 0);
  CHECK(plans[4].workspace_bytes == 2048);
  CHECK(bench.plans(two_sums()).size() == 5);
}

TEST_CASE("a plan is executed on the handle's stream and overwrites its workspace") {
  Bench bench;
  const DeviceVector<unsigned char> workspace(std::vector<unsigned char>(2049), bench.stream.get());
  const auto plans = bench.plans(two_sums());
  {
    const Gate gate(bench.stream.get());
    bench.execute(plans[4], bench.operands(bench.a.data()), workspace.data());
    CHECK(bench.y.data()[0] == 0);  // which a host can read here
  }
  CHECK(bench.y.read() == Floats{21, 42, 63, 84});
  const auto bytes = workspace.read();
  CHECK(bytes.front() != 0);
  CHECK(bytes[2047] != 0);
  CHECK(bytes[2048] == 0);
}

TEST_CASE("a workspace that overlaps a tensor shows") {
  Bench bench;
  const auto plans = bench.plans(sum_graph());
  const DeviceVector<float> memory(Floats(512, 1), bench.stream.get());
  const auto y_with = [&](float* a) {
    bench.execute(plans[1], bench.operands(a), memory.data());
    return bench.y.read();
  };
  CHECK(y_with(memory.data() + 252) != Floats{11, 21, 31, 41});
  CHECK(y_with(memory.data() + 256) == Floats{11, 21, 31, 41});
}

TEST_CASE("executing refuses pointers that no device could use") {
  Bench bench;
  Floats host(4);
  const auto plans = bench.plans(sum_graph());
  float* const a = bench.a.data();
  struct Case {
    std::size_t plan;
    float* a;
    void* workspace;
    const char* words;
  };
  CHECK_NOTHROW(bench.execute(plans[0], bench.operands(a)));
  for (const Case& c :
       {Case{0, host.data(), nullptr, "tensor 1 does not lie wholly in memory of the device"},
        Case{0, a + 1, nullptr, "aligned"}, Case{0, nullptr, nullptr, "null"},
        Case{1, a, nullptr, "workspace"}, Case{1, a, bench.y.data(), "workspace"}}) {
    CHECK_THROWS_WITH(bench.execute(plans[c.plan], bench.operands(c.a), c.workspace),
                      Contains(c.words));
  }
  CHECK_THROWS_WITH(bench.execute(plans[0], {{1, a}}), Contains("not in the pack"));
}
