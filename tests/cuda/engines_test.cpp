#include <iostream>
#include <string>

#include <catch2/catch.hpp>

#include "cuda/cudnn/conv_plans.hpp"
#include "rueda/model/fusion.hpp"
#include "rueda/model/registry.hpp"

// cuDNN plans for a GPU that is described to it by its properties, so that no GPU is needed to know
// that it has an engine for every convolution. Engines with an epilogue are left out: they are
// compiled when they are planned, for which cuDNN asks the driver.

using namespace rueda;
using namespace rueda::cuda;

namespace {

struct Gpu {
  std::string name;
  int capability;  ///< 900: 9.0
  int multiprocessors;
  int shared_memory_optin;  ///< bytes of a block
  long memory;
  int l2;
  int sm_kilohertz;
  int memory_kilohertz;
};

const Gpu kH200{"NVIDIA H200", 900, 132, 232448, 150109880320, 62914560, 1980000, 3201000};
const Gpu kA100{"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 85097971712, 41943040, 1410000, 1593000};

std::string properties_json(const Gpu& gpu) {
  const auto number = [](const char* name, long value) {
    return ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  return "{\"deviceName\":\"" + gpu.name +
         "\",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64]" +
         number("regsPerBlock", 65536) + number("multiProcessorCount", gpu.multiprocessors) +
         number("warpSize", 32) + number("maxSharedMemoryPerBlock", 49152) +
         number("maxSharedMemoryPerBlockOptin", gpu.shared_memory_optin) +
         number("reservedSharedMemoryPerBlock", 1024) + number("maxRegistersPerSM", 65536) +
         number("maxCtasPerSM", 32) + number("maxThreadsPerBlock", 1024) +
         number("maxThreadsPerSM", 2048) + number("isTccDriver", 0) +
         number("supportCoopLaunch", 1) + number("totalGlobalMem", gpu.memory) +
         number("smClockRateKHz", gpu.sm_kilohertz) +
         number("memClockRateKHz", gpu.memory_kilohertz) + number("l2CacheSize", gpu.l2) +
         number("pciDeviceId", 0) + number("cudaDeviceId", 0) +
         number("deviceVer", gpu.capability) + number("driverVer", 13000) + "}";
}

#if CUDNN_VERSION >= 90800
Descriptor describe(const Gpu& gpu) {
  const std::string json = properties_json(gpu);
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(json));
  properties.finalize();
  return properties;
}

/// "layer direction" of every convolution for which there is no engine.
std::vector<std::string> missing_engines(const Graph& graph, Context& context, int batch) {
  std::vector<std::string> missing;
  for (NodeId node = 1; node <= graph.logits(); ++node) {
    const auto* conv = std::get_if<ConvNode>(&graph.node(node).kind);
    if (conv == nullptr) continue;
    const OperationRequest request{context, graph, node, batch, Mode::train};
    const ConvPlans plans(request, *conv);
    const auto need = [&](const CudnnPlan* plan, const char* what) {
      if (plan == nullptr) missing.push_back(graph.node(node).name + " " + what);
    };
    need(plans.forward(false), "forward");
    need(plans.gradient(ConvDirection::weight_gradient), "weight gradient");
    if (request.input() != graph.input())
      need(plans.gradient(ConvDirection::data_gradient), "data gradient");
  }
  return missing;
}
#endif

}  // namespace

#if CUDNN_VERSION >= 90800
TEST_CASE("cuDNN has an engine for every convolution of every model on an A100 and an H200") {
  if (cudnnGetVersion() < 90800) return;  // plans only for a GPU that is there
  const Gpu gpu = GENERATE(kH200, kA100);
  const std::string model = GENERATE("resnet20", "resnet18", "resnet50v2");
  const Precision precision = GENERATE(Precision::fp32, Precision::tf32, Precision::bf16);
  const bool deterministic = GENERATE(false, true);
  const int batch = GENERATE(256, 13);
  CAPTURE(gpu.name, model, to_string(precision), deterministic, batch);
  const Descriptor properties = describe(gpu);
  Context context;
  context.precision = precision;
  context.plans = std::make_unique<PlanStore>(
      CudnnTarget{nullptr, properties.get()},
      PlanLimits{.tensor_cores = precision != Precision::fp32, .deterministic = deterministic});
  const Graph graph = fuse_additions(build_model(model, model == "resnet50v2" ? 128 : 32, 10),
                                     {.conv_adds = true, .batch_norm_adds = true});
  CHECK(missing_engines(graph, context, batch).empty());
}

// Hidden: jobs/gpu-check.sh keeps what it prints. With it, plans for that GPU can be made anywhere.
TEST_CASE("the properties of the GPU that is here, as cuDNN describes them", "[.properties]") {
  cudnnHandle_t raw = nullptr;
  check(cudnnCreate(&raw), "cudnnCreate");
  const CudnnHandle handle(raw);
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_HANDLE, handle.get());
  properties.finalize();
  const auto json = properties.get_all<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  std::cout << std::string(json.begin(), json.end()) << std::endl;
  CHECK_FALSE(json.empty());
}
#endif
