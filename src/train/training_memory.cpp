#include "rueda/train/training_memory.hpp"

#include <algorithm>

#include "rueda/backend/gradient_arena.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/reduce/ring_plan.hpp"
#include "rueda/reduce/tree_order.hpp"

namespace rueda {

MemoryNeed training_memory(MemoryNeed replica, const Graph& graph, std::size_t micro_batches,
                           std::size_t message_floats, std::size_t image_bytes) {
  const std::size_t slots = micro_batches > 1 ? TreeOrder::slots_needed(micro_batches) : 0;
  replica.optimizer = graph.parameter_count() * sizeof(float);
  replica.accumulation = slots * GradientLayout(graph).total() * sizeof(float);
  replica.messages = message_floats * sizeof(float);
  replica.images = image_bytes;
  return replica;
}

MemoryNeed usual_training_memory(const Graph& graph, Backend& backend, std::size_t batch, int ranks,
                                 Recompute recompute) {
  backend.forget_plans();
  const ReplicaPlan plan(graph, backend, {batch}, {batch}, recompute);
  return training_memory(plan.memory(), graph, 1,
                         ring_scratch_floats(GradientLayout(graph).total(), ranks),
                         backend.image_bytes(kOfficialTrainImages + kOfficialTestImages));
}

std::size_t largest_batch(std::size_t bytes, std::size_t most,
                          const std::function<MemoryNeed(std::size_t batch)>& need) {
  const std::size_t first = need(1).total();
  if (first > bytes || most == 0) return 0;
  if (most == 1) return 1;
  const std::size_t probe = std::min<std::size_t>(9, most);
  const std::size_t per_image =
      std::max<std::size_t>(1, (need(probe).total() - first) / (probe - 1));
  std::size_t fits = 1;
  std::size_t fails = most + 1;
  std::size_t trial = 1 + (bytes - first) / per_image;
  // From where the straight line points, in growing strides until the answer is bracketed, then by
  // halves.
  for (std::size_t stride = 1; fails - fits > 1; stride *= 2) {
    if (trial <= fits || trial >= fails) trial = fits + (fails - fits) / 2;
    const bool enough = need(trial).total() <= bytes;
    (enough ? fits : fails) = trial;
    trial = enough ? trial + stride : trial - std::min(trial, stride);
  }
  return fits;
}

}  // namespace rueda
