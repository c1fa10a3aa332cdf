#pragma once

#include <string>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// The names that `build_model` takes, in the order of a help text.
std::vector<std::string> model_names();

/// Builds a network by name for square images of `image_size` pixels. Throws
/// InputError listing the known names, or naming the layer that the image size
/// does not fit.
Graph build_model(const std::string& name, int image_size, int classes);

}  // namespace rueda
