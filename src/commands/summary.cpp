#include "summary.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <ostream>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "rueda/core/error.hpp"
#include "rueda/core/machine.hpp"
#include "rueda/display/model_summary.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/train/run_plan.hpp"
#include "wiring/open_backend.hpp"

namespace rueda {
namespace {

/// Opens what the memory is planned on.
std::unique_ptr<Backend> open_planned(const SummaryOptions& options, int threads) {
  try {
    return open_backend(
        {.choice = options.backend, .precision = options.precision, .threads = threads});
  } catch (const InputError& error) {
    if (options.backend != BackendChoice::cuda) throw;
    throw InputError(std::string("the memory of training on a GPU can only be planned on one; ") +
                     error.what());
  }
}

/// Plans batches of one model as training does.
class MemoryPlanner {
 public:
  MemoryPlanner(const Graph& graph, const SummaryOptions& options)
      : graph_(graph),
        options_(options),
        threads_(options.threads > 0 ? options.threads : static_cast<int>(allowed_cores().size())),
        backend_(open_planned(options, threads_)) {}

  MemoryNeed operator()(std::size_t batch) {
    return usual_training_memory(graph_, *backend_, batch, options_.ranks, options_.recompute);
  }

  /// The batch asked for, and the largest one if an amount of memory was given.
  std::string describe_all() {
    std::string text = describe(options_.batch_per_rank);
    if (!options_.memory.empty()) text += '\n' + describe_largest();
    return text;
  }

 private:
  std::string describe(std::size_t batch) {
    return fmt::format("Memory of one rank of {}: {}, {}{}, batch of {}\n", options_.ranks,
                       device(), to_string(options_.precision), recomputed(), batch) +
           memory_table((*this)(batch));
  }

  std::string device() const {
    if (backend_->name() != "cpu") return std::string(backend_->name()) + ", " + backend_->device();
    return fmt::format("cpu, {} thread{}", threads_, threads_ == 1 ? "" : "s");
  }

  std::string recomputed() const {
    if (options_.recompute == Recompute::none) return "";
    return std::string(", recompute ") + to_string(options_.recompute);
  }

  std::string describe_largest() {
    const std::size_t bytes = parse_memory(options_.memory);
    const std::size_t batch = largest_batch(bytes, kMostSamples, std::ref(*this));
    return largest_batch_summary(options_.memory, batch, (*this)(std::max<std::size_t>(batch, 1)));
  }

  const Graph& graph_;
  const SummaryOptions& options_;
  int threads_;
  std::unique_ptr<Backend> backend_;
};

/// Without a backend to plan on.
std::string memory_is_unknown(const std::string& asked) {
  const std::string reason = "this build has no CPU backend (-Dcpu=disabled), and there is no GPU";
  if (!asked.empty()) throw InputError("--memory " + asked + ": " + reason);
  return "Memory: unknown, " + reason + '\n';
}

std::string describe_memory(const Graph& graph, const SummaryOptions& options) {
  const bool nowhere = !RUEDA_WITH_CPU && options.backend == BackendChoice::automatic;
  if (nowhere && !wants_cuda(options.backend)) return memory_is_unknown(options.memory);
  return MemoryPlanner(graph, options).describe_all();
}

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kUnits = {Unit{"TB", 1e12},    Unit{"GB", 1e9},     Unit{"MB", 1e6},
                               Unit{"TiB", 0x1p40}, Unit{"GiB", 0x1p30}, Unit{"MiB", 0x1p20}};

}  // namespace

std::size_t parse_memory(const std::string& text) {
  double count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : kUnits) {
    const double bytes = count * known.bytes;
    if (error != std::errc{} || unit != known.name || !(bytes >= 1.0 && bytes < 1e18)) continue;
    return static_cast<std::size_t>(bytes);
  }
  throw InputError("--memory '" + text +
                   "' is not an amount of memory: give for example 64GB, 1.5TB or 800MiB");
}

void run_summary(const SummaryOptions& options, std::ostream& out) {
  const Graph graph = build_model(options.model, options.image_size, options.classes);
  const std::string memory = describe_memory(graph, options);
  out << model_summary(graph, options.batch_per_rank) << '\n' << memory;
}

}  // namespace rueda
