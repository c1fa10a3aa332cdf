#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpreter.hpp"

// nvcc's own host code launches its kernels here: what it registers when the program begins is read
// as PTX, and a launch goes to a stream of the stand-in.

namespace rueda::ptx {

/// How kernels that are launched from now on run: in the stand-in's memory, with a seed that
/// RUEDA_PTX_SEED gives and that each launch of a kernel makes another one of.
Settings& launch_settings();

/// What kernels that have run did wrong since the last call. A program that never calls it ends
/// with the first of these.
std::vector<Finding> take_findings();

struct Coverage {
  std::string kernel;
  std::uint64_t launches = 0;
  std::uint64_t instructions = 0;  ///< of all threads
  std::vector<std::string> never;  ///< instructions that no thread has come to
  std::size_t size = 0;            ///< instructions that it has
};

/// Of all kernels of the program.
std::vector<Coverage> coverage();

}  // namespace rueda::ptx
