#include "sweep.hpp"

#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "tests/ptx/launch.hpp"

namespace rueda::sweep {
namespace {

Choice chosen;
int passed = 0, failed = 0;

void set_schedule(int number, bool races) {
  static_cast<void>(ptx::take_findings());
  auto& settings = ptx::launch_settings();
  static const std::uint64_t first_seed = settings.seed;
  settings.seed = first_seed + std::uint64_t(number) * 7919;
  settings.resident = number % 2 == 0 ? 5 : 1;
  settings.races = races;
}

/// Of a whole sweep, also what no thread came to.
void print_coverage() {
  std::size_t kernels = 0, launched = 0, size = 0, never = 0;
  std::uint64_t instructions = 0;
  for (const auto& c : ptx::coverage()) {
    ++kernels;
    size += c.size;
    never += c.never.size();
    instructions += c.instructions;
    launched += c.launches == 0 ? 0 : 1;
    if (!chosen.whole) continue;
    if (c.launches == 0) std::printf("never launched: %s\n", c.kernel.c_str());
    for (const auto& line : c.launches == 0 ? std::vector<std::string>{} : c.never)
      std::printf("never executed: %s in %s\n", line.c_str(), c.kernel.c_str());
  }
  std::printf("%zu of %zu kernels, %zu of %zu instructions of PTX, %.1f million by threads\n",
              launched, kernels, size - never, size, double(instructions) * 1e-6);
}

}  // namespace

const Choice& choice() { return chosen; }

void Row::fail(const std::string& why) {
  if (why_.find(why) == std::string::npos) why_ += (why_.empty() ? "" : "; ") + why;
}

void row(const std::string& kernel, const std::string& shape, const std::function<void(Row&)>& run,
         Schedules schedules) {
  if (kernel.find(chosen.kernel) == std::string::npos) return;
  Row it;
  for (int s = 0; s < (chosen.whole ? schedules.count : 1); ++s) {
    set_schedule(s, schedules.races);
    run(it);
    for (const auto& finding : ptx::take_findings()) it.fail(finding.what + " at " + finding.where);
  }
  ++(it.why().empty() ? passed : failed);
  if (!it.why().empty())
    std::printf("%s, %s: %s\n", kernel.c_str(), shape.c_str(), it.why().c_str());
}

double noise(std::uint64_t key, std::uint64_t index) {
  std::uint64_t h = key * 0xd1342543de82ef95ULL + index + 1;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ULL;
  h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ULL;
  h ^= h >> 32;
  const double digits = double(h >> 12) * 0x1p-52;
  return (h & 1U) != 0 ? digits : -digits;
}

Bfloat16 rounded_to_bf16(double value) {
  const auto upper_half = [](double v) {
    return Bfloat16{std::uint16_t(std::bit_cast<std::uint32_t>(float(v)) >> 16)};
  };
  if (std::isnan(value)) return {0x7fff};
  if (std::isinf(value) || value == 0) return upper_half(value);
  int exponent = 0;
  static_cast<void>(std::frexp(value, &exponent));
  const double unit = std::ldexp(1.0, std::max(exponent - 8, -133));
  return upper_half(std::nearbyint(value / unit) * unit);
}

cudaStream_t stream() {
  static const cuda::Stream it = cuda::make_stream();
  return it.get();
}

void copy_to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), "copy");
  cuda::check(cudaStreamSynchronize(stream()), "wait");
}

void copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0)
    cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()), "copy");
  cuda::check(cudaStreamSynchronize(stream()), "wait");
}

cuda::DeviceMemory unwritten(std::size_t bytes) {
  auto memory = cuda::make_device_memory(std::max<std::size_t>(bytes, 1));
  cuda::check(cudaMemsetAsync(memory.get(), 0xA5, bytes, stream()), "cudaMemsetAsync");
  return memory;
}

bool is_unwritten(const void* memory, std::size_t bytes) {
  std::vector<std::byte> margin(bytes);
  copy_to_host(margin.data(), memory, bytes);
  return std::all_of(margin.begin(), margin.end(), [](auto b) { return b == std::byte{0xA5}; });
}

void expect_near(Row& row, const Doubles& got, const Doubles& want, double allowed, double size,
                 const char* what) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double g = got[i], w = want[i];
    const bool both_none = std::isnan(g) && std::isnan(w);
    const double near = allowed * std::max(std::abs(w), size);
    if (both_none || g == w || (std::isfinite(w) && std::abs(g - w) <= near)) continue;
    return row.fail(text("mismatch of %s: [%zu] is %.17g, not %.17g", what, i, g, w));
  }
}

Scratch::Scratch() : memory_(unwritten(sizeof(cuda::SumScratch))) {
  cuda::check(cudaMemsetAsync(memory_.get(), 0, sizeof get()->arrived, stream()),
              "cudaMemsetAsync");
}

void Scratch::check_counters(Row& row) const {
  std::vector<unsigned> counters(cuda::kMostTiles);
  copy_to_host(counters.data(), memory_.get(), sizeof get()->arrived);
  for (const unsigned c : counters)
    if (c != 0) row.fail("a counter was left");
}

std::string shape_of(const Length& length) {
  return text("n=%zu at +%zu, +%zu", length.count, length.a, length.b);
}

namespace {

using Sweep = std::pair<std::string_view, void (*)()>;
constexpr Sweep kSweeps[] = {{"elementwise", sweep_elementwise},
                             {"conversions", sweep_conversions},
                             {"losses", sweep_losses},
                             {"norms", sweep_norms},
                             {"columns", sweep_columns},
                             {"images", sweep_images},
                             {"large", sweep_large}};

/// Whether there is such a part.
bool run_part(std::string_view part) {
  bool known = part == "all";
  for (const auto& [name, sweep] : kSweeps) {
    if (part != "all" && part != name) continue;
    sweep();
    known = true;
  }
  return known;
}

}  // namespace
}  // namespace rueda::sweep

int main(int argc, char** argv) {
  using namespace rueda::sweep;
  const std::string how = argc > 1 ? argv[1] : "";
  chosen.whole = how == "whole";
  if (argc > 3) chosen.kernel = argv[3];
  if ((how != "quick" && how != "whole") || argc > 4 || !run_part(argc > 2 ? argv[2] : "all")) {
    std::puts("usage: sweep_ptx quick|whole [PART [KERNEL]]");
    return 2;
  }
  if (argc == 2) print_coverage();
  std::printf("%d calls as expected, %d not\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
