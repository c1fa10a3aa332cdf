#include "rueda/train/gradient_accumulator.hpp"

namespace rueda {

GradientAccumulator::GradientAccumulator(Backend& backend, std::size_t arena_floats,
                                         std::size_t micro_batches)
    : device_(backend.reduce_device()), micro_batches_(micro_batches) {
  if (micro_batches == 1) return;
  for (std::size_t i = 0; i < TreeOrder::slots_needed(micro_batches); ++i) {
    slots_.push_back(backend.allocate(arena_floats * sizeof(float)));
  }
}

void GradientAccumulator::merge(std::size_t into, std::size_t from) {
  device_.add(slot(into), slot(from));
}

void GradientAccumulator::push(std::span<const float> arena) {
  if (micro_batches_ == 1) return;
  device_.join();  // the backward pass wrote the arena
  device_.copy(slot(order_.next_slot()), arena);
  order_.push([this](std::size_t into, std::size_t from) { merge(into, from); });
  device_.join();  // the next one writes it again
}

void GradientAccumulator::finish(std::span<float> arena) {
  if (micro_batches_ == 1) return;
  order_.finish([this](std::size_t into, std::size_t from) { merge(into, from); });
  device_.copy(arena, slot(0));
  device_.join();
}

}  // namespace rueda
