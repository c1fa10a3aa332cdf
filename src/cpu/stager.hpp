#pragma once

#include <cstddef>
#include <memory>

#include "backend/host_batch.hpp"
#include "rueda/backend/batch_stager.hpp"

namespace rueda::cpu {

/// Backend::make_stager of the CPU.
std::unique_ptr<BatchStager> make_host_stager(const InputFormat& format, int image_size,
                                              std::size_t batch);

}  // namespace rueda::cpu
