#include "cpu/cpu_backend.hpp"

#include <fstream>
#include <sstream>
#include <utility>

#include <catch2/catch.hpp>
#include <malloc.h>
#include <unistd.h>

#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "commands/summary.hpp"
#include "cpu/context.hpp"
#include "model/graph_builder.hpp"
#include "reduce/tree_order.hpp"
#include "tests/support/has_avx512.hpp"
#include "tests/support/training_bench.hpp"
#include "train/run_plan.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

// What the CPU backend alone has. What all backends have in common is tested in tests/backend.
TEST_CASE("cpu: the name, and two bytes for the image in bf16", "[cpu]") {
  GraphBuilder g("carrier", {10, 3, 3});
  g.global_average_pool("pool", g.pad_shortcut("carrier", g.input(), 10, 1));
  const Graph graph = std::move(g).finish();
  const auto wide = cpu::make_cpu_backend({.precision = Precision::fp32});
  CHECK(wide->name() == "cpu");
  CHECK(wide->activation_bytes(graph, 0, 2) == 2 * 4 * 90);
  if (!has_avx512()) return;
  const auto narrow = cpu::make_cpu_backend({.precision = Precision::bf16});
  CHECK(narrow->activation_bytes(graph, 0, 2) == 2 * 2 * 90);
}

/// The tests' build runs this one with and without ONEDNN_MAX_CPU_ISA=AVX2.
TEST_CASE("cpu bf16 is taken with AVX-512 and refused in words without", "[cpu][bf16-or-not]") {
  const cpu::CpuOptions options{.precision = Precision::bf16};
  if (has_avx512()) {
    CHECK_NOTHROW(cpu::make_cpu_backend(options));
  } else {
    CHECK_THROWS_AS(cpu::make_cpu_backend(options), InputError);
    CHECK_THROWS_WITH(cpu::make_cpu_backend(options), Catch::Contains("--precision bf16") &&
                                                          Catch::Contains("AVX-512") &&
                                                          Catch::Contains("--precision fp32"));
  }
  CHECK_NOTHROW(cpu::make_cpu_backend({.precision = Precision::fp32}));
}

/// The tests' build runs this one with and without ONEDNN_MAX_CPU_ISA=AVX.
TEST_CASE("cpu: passes in oneDNN's reference loops are named in one warning", "[cpu][references]") {
  GraphBuilder g("slow", {3, 16, 16});  // as images have: there are kernels for three channels
  const NodeId first = g.conv("first", g.input(), {.filters = 16, .kernel = 3, .padding = 1});
  g.conv("second", first, {.filters = 16, .kernel = 3, .padding = 1});
  const Graph graph = std::move(g).finish();
  const auto backend = cpu::make_cpu_backend({});
  const ReplicaPlan plan(graph, *backend, {4, 8}, {4});
  const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (limit != nullptr && std::string(limit) == "AVX") {
    CHECK_THAT(backend->slow_plans(), Contains("reference loops") &&
                                          Contains("data gradient of second") &&
                                          Contains("unset ONEDNN_MAX_CPU_ISA"));
    CHECK_THAT(backend->slow_plans(), !Contains("other passes"));  // once for all sizes of batches
  } else if (cpu::preferred_layout(dnnl::engine(dnnl::engine::kind::cpu, 0), Precision::fp32) !=
             cpu::ActivationLayout::channels_last) {
    CHECK(backend->slow_plans() == "");
  }
  CHECK(cpu::references_text({}).empty());
  CHECK_THAT(cpu::references_text({"forward of a", "backward of b", "backward of c"}),
             Contains("for the forward of a and 2 other passes of layers: "));
}

TEST_CASE("cpu: packed weights have the bits of oneDNN's reorder", "[cpu]") {
  using tag = dnnl::memory::format_tag;
  const auto [in, out, kernel] =
      GENERATE(table<int, int, int>({{16, 48, 3}, {32, 16, 1}, {8, 24, 3}}));
  GraphBuilder g("packed", {in, 4, 4});
  g.conv("conv", g.input(), {.filters = out, .kernel = kernel, .padding = kernel / 2});
  const Graph graph = std::move(g).finish();
  const Parameter& weight = graph.parameters().front();
  std::vector<float> values(weight.count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i)) / 7;
  values[3] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& tags :
       {std::vector{tag::OIhw16i16o, tag::OIhw16o16i, tag::IOhw16o16i, tag::hwio},
        std::vector{tag::OIhw8i16o2i, tag::OIhw8o16i2o, tag::IOhw8o16i2o}}) {
    cpu::Context context;
    cpu::PackedWeights packed;
    const bool bf16 = tags.front() == tag::OIhw8i16o2i;
    for (const tag layout : tags) packed.request(0, cpu::conv_weight_desc(weight, bf16, layout));
    packed.allocate(graph, context.engine, values);
    packed.pack_all(context.stream);
    for (std::size_t slot = 0; slot < tags.size(); ++slot) {
      INFO(in << " to " << out << ", bf16 " << bf16 << ", slot " << slot);
      const dnnl::memory& ours = packed.memory(slot);
      const dnnl::memory theirs(ours.get_desc(), context.engine);
      cpu::reorder_call({cpu::conv_weight_desc(weight), context.engine, values.data()}, theirs)
          .run(context.stream);
      CHECK(std::memcmp(ours.get_data_handle(), theirs.get_data_handle(),
                        ours.get_desc().get_size()) == 0);
    }
  }
}

/// A need of `fixed` bytes and `per_image` for each image, and a few more at every 8th.
MemoryNeed straight_line(std::size_t fixed, std::size_t per_image, std::size_t batch) {
  MemoryNeed need;
  need.parameters = fixed;
  need.activations = per_image * batch + batch % 8 * 3;
  return need;
}

TEST_CASE("largest batch: the last that fits", "[memory]") {
  for (const std::size_t fixed : {0, 1'000, 999'000}) {
    for (const std::size_t per_image : {10, 77, 100'000}) {
      CAPTURE(fixed, per_image);
      const auto need = [&](std::size_t batch) { return straight_line(fixed, per_image, batch); };
      const std::size_t batch = largest_batch(1'000'000, 1'000'000, need);
      CHECK((batch == 0 || need(batch).total() <= 1'000'000));
      CHECK(need(batch + 1).total() > 1'000'000);
    }
  }
}

TEST_CASE("largest batch: few plans are made, and none beyond the limit", "[memory]") {
  int plans = 0;
  // A line with a kink: what the first images say holds for no large batch.
  const auto need = [&](std::size_t batch) {
    ++plans;
    CHECK(batch <= 500'000);
    return straight_line(1'000, batch < 100 ? 1'000 : 1'500, batch);
  };
  const std::size_t batch = largest_batch(100'000'000, 500'000, need);
  CHECK(straight_line(1'000, 1'500, batch).total() <= 100'000'000);
  CHECK(straight_line(1'000, 1'500, batch + 1).total() > 100'000'000);
  CHECK(plans < 45);
  CHECK(largest_batch(100'000'000'000, 500'000, need) == 500'000);
}

TEST_CASE("training memory: what is there besides the replica", "[memory]") {
  const Graph graph = build_model("resnet20", 32, 10);
  MemoryNeed replica;
  replica.activations = 5;
  const MemoryNeed one = training_memory(replica, graph, 1, 100);
  CHECK(one.optimizer == 4 * (GradientLayout(graph).lead() + graph.parameter_count()));
  CHECK(one.accumulation == 0);
  CHECK(one.messages == 400);
  CHECK(one.of_batch() == 5);
  const MemoryNeed four = training_memory(replica, graph, 4, 0);
  CHECK(four.accumulation ==
        TreeOrder::slots_needed(4) * 4 * (graph.parameter_count() + graph.statistics_count() + 7));
}

// A sanitizer holds memory of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// Memory of this process that is really there, in bytes; what malloc keeps for later is given
/// back.
std::size_t resident_bytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * std::size_t(sysconf(_SC_PAGESIZE));
}

/// What a training run of one step adds to this process's memory.
double measured_bytes(const TrainConfig& config) {
  const std::size_t before = resident_bytes();
  SoloTraining training(config, {.train = config.batch.per_rank * config.batch.accumulate,
                                 .test = config.batch.per_rank});
  RunRecord run;
  const Stopwatch clock;
  const auto reducer = training.make_reducer();
  TrainLoop trainer({training.config, training.plan, training.group, training.replica, *reducer,
                     training.data, training.listener, clock});
  trainer.run(run);
  return double(resident_bytes() - before);
}

/// Returns the plan's bytes, of which training takes 98 to 102 %.
double checked_memory(const char* model, int image_size, std::size_t batch,
                      std::size_t accumulate) {
  CAPTURE(model, accumulate);
  TrainConfig config = small_run();
  config.model.name = model;
  config.model.image_size = image_size;
  config.training.epochs = 1;
  config.batch.per_rank = batch;
  config.batch.accumulate = accumulate;
  mallopt(M_PERTURB, 0);   // Meson has malloc fill what it hands out, also what is never touched
  measured_bytes(config);  // the first run also generates code, once per process
  const Graph graph = build_model(config.model.name, config.model.image_size, kClasses);
  const auto backend = open_backend_under_test();
  const ReplicaPlan plan(graph, *backend, {batch}, {batch});
  const MemoryNeed need = training_memory(plan.memory(), graph, accumulate, 0);
  CHECK(measured_bytes(config) / double(need.total()) == Approx(1.0).epsilon(0.02));
  return double(need.total());
}

/// Small images, so that the weights are most of it; then a network of few weights. Nothing much
/// below 100 MB: oneDNN keeps 0.4 MB (2.6) to 1.2 MB (3.13) for ResNet-20's primitives, which no
/// plan contains.
TEST_CASE("training memory: the plan is what training takes", "[memory]") {
  CHECK(checked_memory("resnet18", 8, 32, 2) > 250e6);
  CHECK(checked_memory("resnet20", 32, 64, 1) > 100e6);
}

TEST_CASE("training memory: the plan is what training takes with large images", "[memory][long]") {
  for (const std::size_t accumulate : {1, 2})
    CHECK(checked_memory("resnet18", 32, 56, accumulate) > 400e6);
}

#endif

TrainConfig on_one_thread(const std::string& model = "resnet20") {
  TrainConfig config;
  config.model.name = model;
  config.device.threads = 1;
  return config;
}

std::string summary(const SummaryOptions& options) {
  std::ostringstream out;
  run_command(options, out);
  return out.str();
}

TEST_CASE("summary: amounts of memory", "[summary]") {
  CHECK(parse_memory("64GB") == 64'000'000'000);
  CHECK(parse_memory("1.5TB") == 1'500'000'000'000);
  CHECK(parse_memory("800 MB") == 800'000'000);
  CHECK(parse_memory("2GiB") == 2'147'483'648);
  CHECK(parse_memory("512MiB") == 536'870'912);
  for (const char* text : {"", "64", "GB", "64gb", "64 kB", "-1GB", "0GB", "nanGB", "infGB",
                           "1e300GB", "64GB of it", "64  GB", "0x10GB"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_memory(text), Contains("--memory") && Contains("64GB"));
  }
}

TEST_CASE("summary: memory in two groups", "[summary]") {
  const std::string text = summary({.train = on_one_thread("resnet18")});
  CHECK_THAT(text, Contains("Memory of one rank of 1: cpu, 1 thread, fp32, batch of 64"));
  CHECK_THAT(text, Contains("  model "));
  CHECK_THAT(text, Contains("    parameters   44.7 MB"));
  CHECK_THAT(text, Contains("    optimizer    44.7 MB"));
  CHECK_THAT(text, Contains("  batch "));
  CHECK_THAT(text, Contains("    activations "));
  CHECK_THAT(text, !Contains("messages"));
  CHECK_THAT(summary({.train = on_one_thread("resnet18"), .ranks = 2}),
             Contains("    messages     22.4 MB"));
}

TEST_CASE("summary: the largest batch that fits", "[summary]") {
  const std::string text = summary({.train = on_one_thread(), .memory = "1GB"});
  const std::string found = "Largest batch that fits into 1GB: ";
  REQUIRE_THAT(text, Contains(found));
  // MB, nearly or wholly the limit; kernels' workspace grows in leaps
  CHECK_THAT(text, Contains("  total           9") || Contains("  total          1000 MB"));
  const std::size_t largest = std::stoul(text.substr(text.find(found) + found.size()));
  TrainConfig larger = on_one_thread();
  larger.batch.per_rank = largest + 1;
  CHECK_THAT(summary({.train = larger}), Contains(" GB"));
  CHECK_THAT(summary({.train = on_one_thread(), .memory = "1MB"}),
             Contains("Not even a batch of 1 fits into 1MB: it takes "));
}

}  // namespace
}  // namespace rueda::test
