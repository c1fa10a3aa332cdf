#include "rueda/optim/sgd.hpp"

namespace rueda {

Sgd::Sgd(Backend& backend, std::size_t parameters, const Options& options)
    : backend_(backend),
      options_(options),
      velocities_(backend.allocate(parameters * sizeof(float))) {}

void Sgd::update(std::span<float> values, std::span<const float> gradients, std::size_t offset,
                 double learning_rate) {
  backend_.sgd_update(values, velocities().subspan(offset, values.size()), gradients,
                      {.learning_rate = static_cast<float>(learning_rate),
                       .momentum = static_cast<float>(options_.momentum),
                       .weight_decay = static_cast<float>(options_.weight_decay),
                       .nesterov = options_.nesterov});
}

}  // namespace rueda
