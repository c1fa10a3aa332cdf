#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "rueda/train/config.hpp"

namespace rueda {

/// Adds every option of `rueda train` to `app`, bound to `config`, in the groups of the help text.
/// Form is checked while parsing; ranges are `validate`'s part.
void add_train_options(CLI::App& app, TrainConfig& config);

/// Reads `50steps`, `1epoch` and the like. Throws InputError for anything else, and for 0.
CheckpointEvery parse_every(const std::string& text);

/// Reads `KIND:RANK:STEP`, for example `flip-bit:1:10`. Throws InputError for anything else.
InjectedFault parse_fault(const std::string& text);

}  // namespace rueda
