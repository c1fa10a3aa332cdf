// The launches of a step, as the roofline counts them and the CUDA backend queues them. On PTX also
// the bytes that each kernel touches.
#include "backend/launches.hpp"

#include <array>
#include <cstdlib>
#include <memory>

#include <catch2/catch.hpp>
#include <cxxabi.h>

#include "cuda/kernels/kernels.hpp"
#include "model/gpu_fusion.hpp"
#include "model/registry.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "standin.hpp"
#include "tests/support/training_bench.hpp"

namespace rueda::test {
namespace {

/// What the name of a launch contains: of a graph its operation, of a kernel its body, its
/// parameters, or the function that a lambda lies in.
const char* sign_of(LaunchKind kind) {
  constexpr auto kSigns = std::to_array<std::pair<LaunchKind, const char*>>(
      {{LaunchKind::copy, "copy"},
       {LaunchKind::clear, "clear"},
       {LaunchKind::make_batch, "MakePixel<"},
       {LaunchKind::unroll_rows, "UnrollRows<"},
       {LaunchKind::conv_forward, "OPERATION_CONVOLUTION_FORWARD"},
       {LaunchKind::conv_data, "OPERATION_CONVOLUTION_BACKWARD_DATA"},
       {LaunchKind::conv_weights, "OPERATION_CONVOLUTION_BACKWARD_FILTER"},
       {LaunchKind::add_bias, "AddBias<"},
       {LaunchKind::drop_channels, "CopyChannels<"},
       {LaunchKind::column_sums, "ColumnSums<"},
       {LaunchKind::norm_statistics, "StatisticsSums<"},
       {LaunchKind::norm_finish_sums, "norm_finish_sums"},
       {LaunchKind::norm_apply, "Apply<"},
       {LaunchKind::norm_gradient_sums, "GradientSums<"},
       {LaunchKind::norm_input_gradient, "InputGradient<"},
       {LaunchKind::add_activations, "AddActivations<"},
       {LaunchKind::mask_gradient, "MaskGradient<"},
       {LaunchKind::max_pool, "::MaxPool<"},
       {LaunchKind::max_pool_backward, "::MaxPoolBackward<"},
       {LaunchKind::pad_shortcut, "::PadShortcut<"},
       {LaunchKind::pad_shortcut_backward, "::PadShortcutBackward<"},
       {LaunchKind::average_pool, "::AveragePool<"},
       {LaunchKind::average_pool_backward, "::AveragePoolBackward<"},
       {LaunchKind::dense_forward, "DenseRows"},
       {LaunchKind::dense_data, "gemm"},
       {LaunchKind::dense_weights, "gemm"},
       {LaunchKind::softmax_loss, "softmax_cross_entropy("},
       {LaunchKind::sum_losses, "(rueda::kernels::RowLoss const*, unsigned long, float*)"},
       {LaunchKind::weigh_statistics, "weigh_statistics("},
       {LaunchKind::write_step_sums, "float, float*, rueda::cuda::SumScratch*)"},
       {LaunchKind::sgd_update, "GradientSlice"},
       {LaunchKind::update_running, "update_running("},
       {LaunchKind::pad_channels, "CopyChannels<"}});
  return std::ranges::find(kSigns, kind, &std::pair<LaunchKind, const char*>::first)->second;
}

std::string readable(const std::string& name) {
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), std::free);
  return text ? text.get() : name;
}

struct Case {
  const char* model;
  int image_size;
  Precision precision;
  Epilogue epilogue;
};

/// Without the scratch memory in which kernels leave their blocks' sums: it stays in the cache.
StandinLaunch::Bytes bytes_of(const StandinLaunch& launch) {
  StandinLaunch::Bytes sum;
  for (const auto& [memory, bytes] : launch.touched) {
    if (memory == sizeof(cuda::SumScratch)) continue;
    sum.read += bytes.read;
    sum.written += bytes.written;
    sum.shared += bytes.shared;
  }
  return sum;
}

/// Bytes of a convolution's input that it does not read: cuDNN is given all of it.
double left_out(const Graph& graph, const StepLaunch& step) {
  if (!step.launch.is_convolution()) return 0;
  const Node& node = graph.node(step.node);
  const auto whole = double(graph.shape(node.inputs.front()).elements());
  double bytes = 0;
  for (const TensorBytes& t : step.launch.reads)
    if (t.tensor == Tensor::input) bytes += t.bytes * (whole / touched_elements(graph, node) - 1);
  return bytes;
}

/// The launches of the second step of three, call by call (RUEDA_CUDA_GRAPHS=off).
std::vector<StandinLaunch> launches_of(const TrainConfig& config, const Variant& variant) {
  SoloTraining training(config, {.train = 3 * config.batch.per_rank, .test = 1},
                        open_backend_under_test(variant, config.device.precision));
  const auto reducer = std::make_unique<GradientReducer>(ReducerParts{
      training.replica, training.reduce, plan_buckets(training.graph, {.most_bytes = 100'000})});
  const Stopwatch clock;
  TrainerParts parts{config,   training.plan, training.group,    training.replica,
                     *reducer, training.data, training.listener, clock};
  std::vector<StandinLaunch> launches;
  int step = 0;
  parts.stop_requested = [&] {  // asked at the begin of each step
    if (++step == 2) standin_note_launches();
    if (step != 3) return false;
    training.backend->finish();
    launches = standin_take_launches();
    return false;
  };
  RunRecord run;
  TrainLoop(parts).run(run);
  REQUIRE(step == 3);
  return launches;
}

/// Bytes that blocks may write of lines of the cache together: of single channels, of which a block
/// has less than a line, and of all else the ends of what each block has to itself.
double most_shared(const Launch& launch, const std::string& name) {
  const auto of_channels = [](Tensor tensor) {
    using enum Tensor;
    return tensor == statistics || tensor == gamma_gradient || tensor == beta_gradient ||
           tensor == bias_gradient || tensor == summed_bias_gradient ||
           tensor == passed_bias_gradient;
  };
  // Where all is little, a block has eight lines.
  const double ends = name.find("::Few<") != name.npos ? 1.0 / 8 : 1.0 / 16;
  double bytes = 512;
  for (const TensorBytes& written : launch.writes)
    bytes += written.bytes * (of_channels(written.tensor) ? 1 : ends);
  return bytes;
}

/// `kernels`: the bytes of kernels too.
void compare(const Case& c, bool kernels) {
  CAPTURE(c.model, to_string(c.precision), int(c.epilogue));
  TrainConfig config;
  config.model.name = c.model;
  config.model.image_size = c.image_size;
  config.device.precision = c.precision;
  config.batch.per_rank = 2;
  config.training.epochs = 1;
  config.training.eval_every = 0;
  config.data.augment = Augment::none;
  const Graph graph = fuse_additions(build_model(c.model, c.image_size, kClasses), kGpuFusions);
  const auto planned = step_launches(graph, 2, c.precision, c.epilogue);
  const auto launched =
      launches_of(config, c.epilogue == Epilogue::sums ? variants().front() : repeatable_variant());
  for (std::size_t i = 0; i < std::min(planned.size(), launched.size()); ++i) {
    const StepLaunch& plan = planned[i];
    const std::string name = readable(launched[i].name);
    CAPTURE(i, graph.node(plan.node).name, sign_of(plan.launch.kind), name);
    REQUIRE(name.find(sign_of(plan.launch.kind)) != name.npos);
    CHECK(launched[i].flops == plan.launch.flops);
    const bool resized = plan.launch.kind == LaunchKind::make_batch && c.image_size < kImageSide;
    if (launched[i].touched.empty() && !kernels) continue;
    const StandinLaunch::Bytes bytes = bytes_of(launched[i]);
    CHECK(double(bytes.written) == plan.launch.bytes_written());
    CHECK(double(bytes.shared) <= most_shared(plan.launch, name));
    if (resized) continue;  // pixels are left out
    CHECK(double(bytes.read) == plan.launch.bytes_read() + left_out(graph, plan));
  }
  CHECK(planned.size() == launched.size());
}

TEST_CASE("the CUDA backend launches what the roofline counts", "[launches]") {
  const char* const model = GENERATE("resnet18", "resnet20");
  const auto precision = GENERATE(Precision::fp32, Precision::bf16);
  const auto epilogue = GENERATE(Epilogue::adds, Epilogue::sums);
  compare({model, 8, precision, epilogue}, false);
}

// Of bottlenecks each precision and each epilogue once, and the other pairs in the long tests.
TEST_CASE("and of bottlenecks", "[launches]") {
  SECTION("fp32") { compare({"resnet50v2", 32, Precision::fp32, Epilogue::sums}, false); }
  SECTION("bf16") { compare({"resnet50v2", 32, Precision::bf16, Epilogue::adds}, false); }
}

TEST_CASE("and of bottlenecks the other way round", "[launches][long]") {
  SECTION("fp32") { compare({"resnet50v2", 32, Precision::fp32, Epilogue::adds}, false); }
  SECTION("bf16") { compare({"resnet50v2", 32, Precision::bf16, Epilogue::sums}, false); }
}

TEST_CASE("without an engine for epilogues, too", "[unfused]") {
  compare({"resnet50v2", 32, Precision::bf16, Epilogue::none}, false);
}

TEST_CASE("without an engine for epilogues in fp32", "[unfused][long]") {
  compare({"resnet50v2", 32, Precision::fp32, Epilogue::none}, false);
}

TEST_CASE("kernels touch the bytes that the roofline counts", "[bytes]") {
  compare({"resnet20", 8, GENERATE(Precision::fp32, Precision::bf16), Epilogue::adds}, true);
}

TEST_CASE("those of bottlenecks, too", "[bytes][long]") {
  compare({"resnet50v2", 32, GENERATE(Precision::fp32, Precision::bf16), Epilogue::sums}, true);
}

}  // namespace
}  // namespace rueda::test
