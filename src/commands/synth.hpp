#pragma once

#include <iosfwd>
#include <string>

#include "data/cifar10.hpp"
#include "data/synth.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

/// The options of `rueda synth`.
struct SynthRequest {
  std::string out;
  Cifar10Format format = Cifar10Format::binary;
  SynthOptions drawing;
  bool overwrite = false;
};

/// Throws InputError for too few images, or too many.
void validate(const SynthRequest& request);

/// Draws a data set and writes it in the official file format, then prints one
/// line of what lies where. A directory that already holds the same data set is
/// left as it is; one that holds another is refused with InputError, or
/// replaced with `overwrite`.
void run_command(const SynthRequest& request, std::ostream& out);

}  // namespace rueda
