#pragma once

#include <cstddef>

namespace rueda::standin {

/// The environment variable `name` as a whole number; `otherwise` where it is not set or is none.
std::size_t setting(const char* name, std::size_t otherwise);

/// Microseconds to wait before an item of work, somewhere from half of `mean` to one and a half;
/// the same for the same `seed` and `item`.
std::size_t delay_us(std::size_t mean, std::size_t seed, std::size_t item);

/// Calls the hook of standin_before_item; every item of work begins with it.
void before_item();

/// What standin_shuffle_graphs last said.
bool shuffles_graphs();

}  // namespace rueda::standin
