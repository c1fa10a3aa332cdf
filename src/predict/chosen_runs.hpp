#pragma once

#include <string>
#include <vector>

#include "rueda/predict/cost_fit.hpp"

namespace rueda::predict {

/// The runs that tell the compute time, and of which network they are.
struct Chosen {
  std::string network;
  std::size_t image_size = 0;
  std::vector<RunResult> runs;  ///< of one network, on one kind of device
  std::string ran;              ///< that network
};

/// Those of the network that is asked for, else of the only one that ran. Throws InputError where
/// the runs are of several networks or kinds of devices, and where nothing names a network.
Chosen choose_runs(const std::vector<RunResult>& runs, const Target& target);

}  // namespace rueda::predict
