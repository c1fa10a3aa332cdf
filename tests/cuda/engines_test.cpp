#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cuda/cudnn/conv_plans.hpp"
#include "model/registry.hpp"

// cuDNN plans for a GPU that is described to it by its properties, so that no GPU is needed to know
// that it has an engine for every convolution. For engines with an epilogue, which are compiled
// when they are planned, cuDNN asks the driver: those cases are for accepting_driver.sh's.

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
  int memory_bits;  ///< of its bus: cuDNN 9.28 refuses a description without
};

const Gpu kH200{"NVIDIA H200", 900, 132, 232448, 150109880320, 62914560, 1980000, 3201000, 6144};
const Gpu kH100{
    "NVIDIA H100 80GB HBM3", 900, 132, 232448, 85017493504, 52428800, 1980000, 2619000, 5120};
const Gpu kA100{
    "NVIDIA A100-SXM4-80GB", 800, 108, 166912, 85097971712, 41943040, 1410000, 1593000, 5120};

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
         number("memoryBusWidth", gpu.memory_bits) + number("pciDeviceId", 0) +
         number("cudaDeviceId", 0) + number("deviceVer", gpu.capability) +
         number("driverVer", 13000) + "}";
}

#if CUDNN_VERSION >= 90800
Descriptor describe(const Gpu& gpu) {
  const std::string json = properties_json(gpu);
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(json));
  properties.finalize();
  return properties;
}

struct Training {
  std::string model;
  int image_size, batch;
};

const std::vector<Training> kModels = {{"resnet20", 32, 128},
                                       {"resnet18", 32, 128},
                                       {"resnet50v2", 128, 256},
                                       {"resnet101v2", 128, 256},
                                       {"resnet152v2", 128, 256}};

bool has_note(const CudnnPlan& plan, cudnnBackendNumericalNote_t note) {
  const auto notes =
      plan.config.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR)
          .get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  return std::ranges::find(notes, note) != notes.end();
}

/// The plans of like layers: their number by GPU and engine, their notes, the largest workspace in
/// bytes, and the seconds of a processor for the slowest.
struct Plans {
  std::map<std::string, std::map<std::string, int>> engines;
  std::set<std::string> notes;
  std::size_t workspace = 0;
  double seconds = 0;

  void add(const std::string& gpu, const CudnnPlan& plan, double took) {
    ++engines[gpu][plan.engine.substr(3, plan.engine.find('{') - 3)];
    if (compiled_at_run_time(plan)) notes.insert("compiled");
    if (has_note(plan, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) notes.insert("bits vary");
    workspace = std::max(workspace, plan.workspace_bytes);
    seconds = std::max(seconds, took);
  }
  /// "7, 62 (x 3)".
  std::string engines_of(const std::string& gpu) const {
    std::string text;
    if (!engines.contains(gpu)) return "none";
    for (const auto& [engine, count] : engines.at(gpu))
      text +=
          (text.empty() ? "" : ", ") + engine + (count == 1 ? "" : fmt::format(" (x {})", count));
    return text;
  }
  std::string rest() const {
    return fmt::format("{:.1f} | {} |", double(workspace) / (1 << 20), fmt::join(notes, ", "));
  }
};
using Table = std::map<std::string, Plans>;  ///< by work and shape

/// Plans for a described GPU, which go into a table.
struct Planner {
  Planner(Table& to, const Gpu& gpu, Precision precision, bool deterministic)
      : table(to),
        name(gpu.name + (deterministic ? "*" : "")),
        properties(describe(gpu)),
        sums(!deterministic && precision != Precision::fp32),
        sums_alone(precision == Precision::bf16) {
    context.precision = precision;
    context.plans = std::make_unique<PlanStore>(
        CudnnTarget{nullptr, properties.get()},
        PlanLimits{.tensor_cores = precision != Precision::fp32, .deterministic = deterministic},
        gpu.name);
    if (const char* folder = std::getenv("RUEDA_PLAN_CACHE")) context.plans->keep_in(folder);
  }

  static bool feeds_norm(const Graph& graph, NodeId node) {
    return std::ranges::any_of(graph.readers(node), [&](NodeId reader) {
      return std::holds_alternative<BatchNormNode>(graph.node(reader).kind);
    });
  }

  /// Every convolution, with its epilogue too if `fused`, and there with the
  /// statistics of the batch norm that reads it.
  void plan(const Training& t, int batch, bool fused) {
    const Graph graph = fuse_additions(build_model(t.model, t.image_size, 10),
                                       {.conv_adds = true, .batch_norm_adds = true});
    for (NodeId node = 1; node <= graph.logits(); ++node) {
      const auto* conv = std::get_if<ConvNode>(&graph.node(node).kind);
      if (conv == nullptr) continue;
      const OperationRequest request{{graph, node, batch, Mode::train}, context};
      const ConvPlans plans(request, *conv);
      const bool stem = request.input() == graph.input();
      const auto add = [&](const std::string& what, const Launch& launch) {
        const std::clock_t begin = std::clock();
        const CudnnPlan* plan = plans.find(launch);
        const double took = double(std::clock() - begin) / CLOCKS_PER_SEC;
        CAPTURE(t.model, batch, graph.node(node).name, what, context.plans->failures());
        CHECK(plan != nullptr);
        if (plan == nullptr || !seen.insert(plan).second) return;
        CAPTURE(plan->engine);
        CHECK(has_note(*plan, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ==
              (context.precision != Precision::fp32));
        table[fmt::format("{0} | {1}x{1}{2}{3}", what, conv->kernel, conv->stride == 1 ? "" : "/2",
                          stem ? ", stem" : "")]
            .add(name, *plan, took);
      };
      const NodeLaunches launches(request, context.precision);
      const auto forward = [&](Epilogue epilogue) {
        return convolution_of(launches.forward(epilogue));
      };
      add("forward", forward(Epilogue::none));
      const std::string more = fmt::format("{}{}", conv->bias != kNone ? " + bias" : "",
                                           request.has_residual() ? " + residual" : "");
      if (fused && !more.empty()) add("forward" + more, forward(Epilogue::adds));
      if (fused && (!more.empty() || sums_alone) && sums && feeds_norm(graph, node))
        add("forward" + more + " + statistics", forward(Epilogue::sums));
      for (const Launch& launch : launches.backward({.wants_input = !stem})) {
        if (launch.kind == LaunchKind::conv_weights) add("weight gradient", launch);
        if (launch.kind == LaunchKind::conv_data) add("data gradient", launch);
      }
    }
  }

  Table& table;
  std::string name;
  Descriptor properties;
  bool sums;        ///< statistics: cuDNN adds them in any order, and not in fp32
  bool sums_alone;  ///< without an addition: in bf16 only
  Context context;
  std::set<const CudnnPlan*> seen;
};

/// What CI compares.
std::vector<std::string> training_rows() {
  std::vector<std::string> rows;
  for (const Training& t : {kModels[1], kModels[2]}) {
    Table table;
    Planner(table, kH200, Precision::bf16, false).plan(t, t.batch, true);
    for (const auto& [layers, plans] : table) {
      rows.push_back(fmt::format("| {} | {} | {} | {}", t.model, layers,
                                 plans.engines_of(kH200.name), plans.rest()));
    }
  }
  return rows;
}

/// All plans of a precision.
std::string all_rows(Precision precision) {
  Table table;
  for (const Gpu& gpu : {kA100, kH100, kH200}) {
    for (const bool deterministic : {false, true}) {
      Planner planner(table, gpu, precision, deterministic);
      for (const Training& t : kModels)
        for (const int batch : {t.batch, 13}) planner.plan(t, batch, true);
    }
  }
  std::string text;
  for (const auto& [layers, plans] : table) {
    const auto of = [&](const Gpu& gpu) { return plans.engines_of(gpu.name); };
    const auto repeatable = [&](const Gpu& gpu) {
      const std::string engines = plans.engines_of(gpu.name + "*");
      return engines == of(gpu) ? "same" : engines;
    };
    CHECK(of(kH100) == of(kH200));
    CHECK(repeatable(kH100) == repeatable(kH200));
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} {:.1f} |\n", to_string(precision),
                        layers, of(kA100), repeatable(kA100), of(kH200), repeatable(kH200),
                        plans.rest(), plans.seconds);
  }
  return text;
}

/// The file of the tables, which RUEDA_PLANS_TABLE names.
std::string table_path() {
  const char* path = std::getenv("RUEDA_PLANS_TABLE");
  REQUIRE(path != nullptr);
  return path;
}

std::string version_line() { return fmt::format("cuDNN {}\n", cudnnGetVersion()); }
#endif

}  // namespace

#if CUDNN_VERSION >= 90800
TEST_CASE("cuDNN has an engine for every convolution of every model on an A100 and an H200") {
  if (cudnnGetVersion() < 90800) return;  // plans only for a GPU that is there
  const Gpu gpu = GENERATE(kH200, kA100);
  const Precision precision = GENERATE(Precision::fp32, Precision::tf32, Precision::bf16);
  const bool deterministic = GENERATE(false, true);
  CAPTURE(gpu.name, to_string(precision), deterministic);
  Table table;
  Planner planner(table, gpu, precision, deterministic);
  for (const Training& t : kModels)
    for (const int batch : {t.batch, 13}) planner.plan(t, batch, false);
}

/// What tuning times for a 3x3 convolution of 64 channels.
TEST_CASE("the tiles of one engine have names of their own, and several are suggested") {
  if (cudnnGetVersion() < 90800) return;
  const Gpu gpu = GENERATE(kH100, kA100);
  const Descriptor properties = describe(gpu);
  const CudnnTarget target{nullptr, properties.get()};
  const TensorSpec image{{128, 64, 32, 32}, CUDNN_DATA_BFLOAT16};
  CudnnGraph graph;
  graph.conv(ConvDirection::forward, graph.tensor(2, {{64, 64, 3, 3}, CUDNN_DATA_BFLOAT16}),
             graph.tensor(1, image), graph.tensor(3, image), {.padding = {1, 1}});
  const Descriptor operations = graph.finish(target);
  const PlanLimits limits;
  const auto plans = make_plans(target, operations, limits);
  CHECK(plans.size() == limits.most);
  std::map<std::string, std::size_t> tiles;
  std::set<std::string> names;
  for (const CudnnPlan& plan : plans) {
    CAPTURE(plan.engine);
    CHECK(names.insert(plan.engine).second);
    CHECK(plan.engine.ends_with('}'));  // of its knobs; an engine of cuDNN 9.28 has none
    ++tiles[plan.engine.substr(0, plan.engine.find('{'))];
  }
  CHECK(std::ranges::any_of(tiles, [&](auto& t) { return t.second == limits.most_of_engine; }));
}

TEST_CASE("cuDNN plans ResNet-18 and ResNet50V2 for an H200 as the table says", "[.plans]") {
  if (cudnnGetVersion() < 90800) return;
  std::ifstream file(table_path());
  const std::string table(std::istreambuf_iterator<char>(file), {});
  const bool same = table.find(version_line()) != table.npos;  // else engines are numbered anew
  for (const std::string& row : training_rows()) {
    INFO("jobs/gpu_plans.sh makes the table anew. It lacks " << row);
    CHECK((!same || table.find(row) != table.npos));
  }
}

TEST_CASE("writes the tables of all plans", "[.all-plans]") {
  std::ofstream out(table_path(), std::ios::app);
  out << version_line() << "\n| model | work | shape | engines | MiB | notes |\n"
      << "|---|---|---|---|---|---|\n"
      << fmt::format("{}", fmt::join(training_rows(), "\n"))
      << "\n\n| precision | work | shape | A100 | repeatable | H100, H200 | repeatable | MiB | "
         "notes "
         "| seconds |\n"
      << "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto precision : {Precision::bf16, Precision::tf32, Precision::fp32})
    out << all_rows(precision);
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
