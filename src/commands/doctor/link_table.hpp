#pragma once

#include <string>
#include <vector>

#include "facts.hpp"

namespace rueda::doctor {

/// " memory to the right neighbour" and a table of the links by rank; of more than sixteen the
/// best, the median and the worst.
std::string link_table(const std::vector<LinkFacts>& links);

}  // namespace rueda::doctor
