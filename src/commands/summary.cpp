#include "commands/summary.hpp"

#include <memory>
#include <ostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "commands/roofline.hpp"
#include "display/model_summary.hpp"
#include "display/text.hpp"
#include "launch/machine.hpp"
#include "model/registry.hpp"
#include "run/wiring/open_backend.hpp"
#include "train/run_plan.hpp"

namespace rueda {
namespace {

/// Opens what the memory is planned on.
std::unique_ptr<Backend> open_planned(const SummaryOptions& options, int threads) {
  try {
    return open_backend({.choice = options.train.device.backend,
                         .precision = options.train.device.precision,
                         .threads = threads});
  } catch (const InputError& error) {
    if (options.train.device.backend != BackendChoice::cuda) throw;
    throw InputError(std::string("the memory of training on a GPU can only be planned on one; ") +
                     error.what());
  }
}

/// The memory of the batch asked for, and the largest one if an amount of memory was given.
std::string describe_memory(const Graph& graph, const SummaryOptions& options) {
  const std::string& memory = options.memory;
  const bool nowhere = !RUEDA_WITH_CPU && options.train.device.backend == BackendChoice::automatic;
  if (nowhere && !wants_cuda(options.train.device.backend)) {
    const std::string why = "this build has no CPU backend (-Dcpu=disabled), and there is no GPU";
    if (!memory.empty()) throw InputError("--memory " + memory + ": " + why);
    return "Memory: unknown, " + why + '\n';
  }
  int threads = options.train.device.threads;
  if (threads <= 0) threads = int(allowed_cores().size());
  const auto backend = open_planned(options, threads);
  const auto need = [&](std::size_t batch) {
    return usual_training_memory(graph, *backend, batch, options.ranks,
                                 options.train.device.recompute);
  };
  std::string device = backend->device();
  if (backend->name() == "cpu") device = counted(std::size_t(threads), "thread");
  std::string computes = to_string(options.train.device.precision);
  if (options.train.device.recompute != Recompute::none)
    computes += std::string(", recompute ") + to_string(options.train.device.recompute);
  const std::string text =
      fmt::format("Memory of one rank of {}: {}, {}, {}, batch of {}\n", options.ranks,
                  backend->name(), device, computes, options.train.batch.per_rank) +
      memory_table(need(options.train.batch.per_rank));
  if (memory.empty()) return text;
  const std::size_t batch = largest_batch(parse_memory(memory), kMostSamples, need);
  if (batch == 0) {
    return fmt::format("{}\nNot even a batch of 1 fits into {}: it takes {}\n", text, memory,
                       bytes_text(need(1).total()));
  }
  return fmt::format("{}\nLargest batch that fits into {}: {} per rank\n{}", text, memory,
                     counted(batch, "image"), memory_table(need(batch)));
}

constexpr std::pair<std::string_view, double> kUnits[] = {
    {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}};

}  // namespace

std::size_t parse_memory(const std::string& text) {
  std::string_view unit = text;
  const double count = take_number<double>(unit).value_or(0);
  take(unit, " ");
  for (const auto& [name, factor] : kUnits) {
    const double bytes = count * factor;
    if (unit == name && bytes >= 1.0 && bytes < 1e18) return std::size_t(bytes);
  }
  throw InputError("--memory '" + text +
                   "' is not an amount of memory: give for example 64GB, 1.5TB or 800MiB");
}

void check_classes(int classes) {
  require(classes >= 1 && classes <= 100'000, "--classes must be from 1 to 100000");
}

void validate(const SummaryOptions& options) {
  validate(options.train);  // the same limits as for training
  if (!options.memory.empty()) parse_memory(options.memory);
  require(options.roofline.empty() || wants_cuda(options.train.device.backend) ||
              options.train.device.backend == BackendChoice::automatic,
          "--roofline is of the cuda backend");
  require(options.ranks >= 1 && options.ranks <= 100'000, "--ranks must be from 1 to 100000");
  check_classes(options.classes);
}

void run_command(const SummaryOptions& options, std::ostream& out) {
  if (!options.roofline.empty()) {
    out << roofline_text(options);
    return;
  }
  const Graph graph =
      build_model(options.train.model.name, options.train.model.image_size, options.classes);
  const std::string memory = describe_memory(graph, options);
  out << model_summary(graph, options.train.batch.per_rank) << '\n' << memory;
}

}  // namespace rueda
