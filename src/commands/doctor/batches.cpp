#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "machine.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/train/run_plan.hpp"
#include "wiring/open_backend.hpp"

namespace rueda::doctor {
namespace {

/// CIFAR-10's own for the networks made for it; Keras' larger ones are trained on images resized.
int usual_image_size(const std::string& model) { return model.ends_with("v2") ? 128 : 32; }

bool on_device(const RankFacts& rank) {
  return rank.backend == "cuda" && rank.device.taken() != nullptr;
}

bool share_memory(const RankFacts& rank, const RankFacts& other) {
  if (!on_device(rank)) return other.host == rank.host;
  const GpuFacts* gpu = other.device.taken();
  return gpu != nullptr && gpu->uuid == rank.device.taken()->uuid;
}

/// One backend of each precision for all plans: opening one takes a GPU some time.
using Backends = std::map<Precision, std::unique_ptr<Backend>>;

BatchFacts largest_of(const std::string& model, Backends& opened, const BackendOptions& options,
                      std::size_t bytes, int ranks) {
  BatchFacts facts{model, usual_image_size(model), to_string(options.precision), 0, {}};
  try {
    auto& opened_backend = opened[options.precision];
    if (!opened_backend) opened_backend = open_backend(options);
    Backend& backend = *opened_backend;
    const Graph graph = build_model(model, facts.image_size, 10);
    facts.largest_batch = largest_batch(bytes, kMostSamples, [&](std::size_t batch) {
      return usual_training_memory(graph, backend, batch, ranks);
    });
  } catch (const std::exception& error) {
    facts.failure = error.what();
  }
  return facts;
}

}  // namespace

std::size_t memory_per_rank(const std::vector<RankFacts>& ranks) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const RankFacts& rank : ranks) {
    const std::size_t free = on_device(rank) ? rank.device.free_bytes : rank.host_memory_bytes;
    const auto sharers = std::count_if(ranks.begin(), ranks.end(), [&](const RankFacts& other) {
      return share_memory(rank, other);
    });
    least = std::min(least, free / static_cast<std::size_t>(sharers));
  }
  return ranks.empty() ? 0 : least - least / 20;
}

std::vector<BatchFacts> largest_batches(BackendChoice choice, std::size_t bytes, int ranks,
                                        int threads) {
  std::vector<BatchFacts> all;
  Backends opened;
  for (const std::string& model : model_names()) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      const BackendOptions options{.choice = choice, .precision = precision, .threads = threads};
      all.push_back(largest_of(model, opened, options, bytes, ranks));
    }
  }
  return all;
}

}  // namespace rueda::doctor
