#include "rueda/backend/replica_plan.hpp"

#include <algorithm>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda {

ReplicaPlan::ReplicaPlan(const Graph& graph, Backend& backend,
                         const std::vector<std::size_t>& train_batches,
                         const std::vector<std::size_t>& infer_batches, Recompute recompute)
    : graph_(backend.prepare(graph)),
      backend_(backend),
      recompute_(recompute),
      train_(programs(train_batches, Mode::train)),
      infer_(programs(infer_batches, Mode::infer)) {}

ReplicaPlan::Programs ReplicaPlan::programs(const std::vector<std::size_t>& batches,
                                            Mode mode) const {
  Programs programs;
  for (const std::size_t batch : batches) {
    if (batch == 0 || programs.contains(batch)) continue;
    programs[batch] =
        std::make_unique<Program>(graph_, backend_, static_cast<int>(batch), mode, recompute_);
  }
  return programs;
}

std::size_t ReplicaPlan::pool_bytes() const noexcept {
  std::size_t most = 0;
  for (const Programs* programs : {&train_, &infer_}) {
    for (const auto& [batch, program] : *programs) most = std::max(most, program->pool_bytes());
  }
  return most;
}

MemoryNeed ReplicaPlan::memory() const {
  const GradientLayout layout(graph_);
  return {.parameters = (layout.lead() + layout.parameters) * sizeof(float),
          .gradients = (layout.lead() + layout.total()) * sizeof(float),
          .statistics = 3 * layout.statistics * sizeof(float),
          .packed = backend_.packed_bytes(),
          .activations = pool_bytes(),
          .workspace = backend_.scratch_bytes(),
          .buffers = backend_.buffer_bytes()};
}

void ReplicaPlan::bind(std::byte* pool) {
  for (auto& [batch, program] : train_) program->bind(pool);
  for (auto& [batch, program] : infer_) program->bind(pool);
}

}  // namespace rueda
