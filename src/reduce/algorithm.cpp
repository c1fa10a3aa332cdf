#include "rueda/reduce/algorithm.hpp"

namespace rueda {

const char* to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::automatic:
      return "auto";
    case Algorithm::ring:
      return "ring";
    case Algorithm::doubling:
      return "doubling";
    case Algorithm::hierarchical:
      return "hierarchical";
    case Algorithm::shared:
      return "shared";
    case Algorithm::central:
      return "central";
    case Algorithm::mpi:
      return "mpi";
    case Algorithm::nccl:
      return "nccl";
  }
  return "";
}

const char* to_string(Wire wire) { return wire == Wire::bf16 ? "bf16" : "fp32"; }

}  // namespace rueda
