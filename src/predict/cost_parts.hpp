#pragma once

#include <string>
#include <vector>

#include "rueda/predict/cost_fit.hpp"

namespace rueda::predict {

/// The runs that the compute time is fitted to, and their network.
struct Chosen {
  std::string network;
  std::size_t image_size = 0;
  std::vector<RunResult> runs;  ///< of one network, on one kind of device
  std::string ran;              ///< that network
};

/// Those of the network that is asked for, else of the only one that ran. Throws InputError where
/// the runs are of several networks or kinds of devices, and where no network is named.
Chosen choose_runs(const std::vector<RunResult>& runs, const Target& target);

/// Fills in the machine of the model: what is given, else what was fitted (`fit.machine`), on one
/// level or two. The notes say what was assumed. Throws InputError where something is neither.
void set_machine(CostFit& fit, const Target& target, const Given& given);

}  // namespace rueda::predict
