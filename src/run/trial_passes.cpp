#include "run/trial_passes.hpp"

#include <cstdint>

#include "base/clock.hpp"

namespace rueda {

std::vector<ComputeSeconds> trial_passes(const ImageSet& set, std::size_t images, int side,
                                         Replica& replica, const TrialLength& length) {
  if (images == 0) return {};
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < images; ++i) indices.push_back(std::uint32_t(i % set.size()));
  Backend& backend = replica.backend();
  const auto held = backend.hold(set);
  std::vector<ComputeSeconds> passes;
  for (const Stopwatch watch; passes.size() < length.passes || watch.seconds() < length.seconds;) {
    replica.load({held.get(), {indices, {.image_size = side}}});
    passes.push_back(replica.compute(1.0F / float(images)));
  }
  backend.zero(replica.gradients());
  backend.finish();
  return passes;
}

}  // namespace rueda
