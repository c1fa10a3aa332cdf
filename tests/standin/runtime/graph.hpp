#pragma once

#include <vector>

#include "capture.hpp"

namespace rueda::standin {

/// The nodes in an order that keeps every captured dependency: that of the capture, or with
/// `shuffle` another one, in which a dependency that was forgotten shows.
std::vector<Node> in_order(const std::vector<Node>& nodes, bool shuffle);

}  // namespace rueda::standin
