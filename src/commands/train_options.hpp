#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "rueda/train/config.hpp"

namespace rueda {

/// Adds every option of `rueda train` to `app`, bound to `config`, in the groups of the help text.
/// Form is checked while parsing; ranges are `validate`'s part.
void add_train_options(CLI::App& app, TrainConfig& config);

/// Reads `KIND:RANK:STEP`, for example `nan:0:3`. Throws InputError for anything else.
InjectedFault parse_fault(const std::string& text);

}  // namespace rueda
