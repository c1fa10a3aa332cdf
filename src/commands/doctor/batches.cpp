#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "machine.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/train/training_memory.hpp"
#include "wiring/open_backend.hpp"

namespace rueda::doctor {
namespace {

/// CIFAR-10's own for the networks made for it; Keras' larger ones are trained on images resized.
int usual_image_size(const std::string& model) { return model.ends_with("v2") ? 128 : 32; }

std::size_t sharers(const std::vector<RankFacts>& ranks, const RankFacts& rank) {
  const bool on_device = rank.backend == "cuda" && rank.device.taken() != nullptr;
  return static_cast<std::size_t>(
      std::count_if(ranks.begin(), ranks.end(), [&](const RankFacts& other) {
        if (!on_device) return other.host == rank.host;
        return other.device.taken() != nullptr &&
               other.device.taken()->uuid == rank.device.taken()->uuid;
      }));
}

/// One for each precision, which all plans share: opening one takes a GPU some time.
class Backends {
 public:
  Backends(BackendChoice choice, int threads) : choice_(choice), threads_(threads) {}
  Backend& get(Precision precision) {
    auto& opened = opened_[precision];
    if (!opened) {
      opened = open_backend({.choice = choice_, .precision = precision, .threads = threads_});
    }
    return *opened;
  }

 private:
  BackendChoice choice_;
  int threads_;
  std::map<Precision, std::unique_ptr<Backend>> opened_;
};

BatchFacts largest_of(const std::string& model, Backends& backends, Precision precision,
                      std::size_t bytes, int ranks) {
  BatchFacts facts{.model = model,
                   .image_size = usual_image_size(model),
                   .precision = to_string(precision),
                   .failure = {}};
  try {
    Backend& backend = backends.get(precision);
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
    const bool on_device = rank.backend == "cuda" && rank.device.taken() != nullptr;
    const std::size_t free = on_device ? rank.device.free_bytes : rank.host_memory_bytes;
    least = std::min(least, free / sharers(ranks, rank));
  }
  return ranks.empty() ? 0 : least - least / 20;
}

std::vector<BatchFacts> largest_batches(BackendChoice choice, std::size_t bytes, int ranks,
                                        int threads) {
  std::vector<BatchFacts> all;
  Backends backends(choice, threads);
  for (const std::string& model : model_names()) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      all.push_back(largest_of(model, backends, precision, bytes, ranks));
    }
  }
  return all;
}

}  // namespace rueda::doctor
