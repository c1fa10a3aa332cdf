#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda {

/// What a kernel has to do at least. Bytes: what it reads and writes, each once.
struct Work {
  double flops = 0;
  double bytes = 0;
};

/// What a device reaches at best, a second.
struct Roof {
  double flops = 0;  ///< of a product of large matrices
  double bytes = 0;  ///< read and written by a copy
  /// Williams et al., "Roofline", CACM 52(4), 2009: what takes longer, for each kernel.
  double seconds(const std::vector<Work>& kernels) const {
    double sum = 0;
    for (const Work& work : kernels) sum += std::max(work.flops / flops, work.bytes / bytes);
    return sum;
  }
};

/// FLOP/s of a device whose operands are at hand, and what reached it.
struct Peak {
  double flops = 0;  ///< 0: unknown
  std::string by = {};
};

/// A time at which a layer works. `recompute` makes its output once more, from known statistics.
enum class Pass { forward, recompute, backward };
constexpr auto words_of(Pass) { return std::array{"forward", "recompute", "backward"}; }

/// One pass of a layer over some micro-batches.
struct LayerTime {
  NodeId node = 0;
  Pass pass = Pass::forward;
  std::vector<double> seconds;      ///< by micro-batch
  std::string layer = {};           ///< as the backend runs it: with what is fused into it
  double flops = 0, bytes = 0;      ///< of a micro-batch: see work_of
  std::optional<double> best = {};  ///< seconds that the roof allows
};

/// Where the time of a rank's micro-batches of `batch` images went.
struct LayerProfile {
  std::size_t batch = 0;
  std::optional<Roof> roof{};
  std::vector<LayerTime> layers{};  ///< in the order of the work
};

}  // namespace rueda
