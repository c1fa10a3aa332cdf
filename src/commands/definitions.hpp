#pragma once

#include <iosfwd>
#include <string>

namespace rueda {

/// `rueda definitions` has no options.
struct DefinitionsOptions {};
inline void validate(const DefinitionsOptions&) {}

/// What the program and the reader of its runs (jobs/reader) both have to know, as JSON: phases,
/// outcomes, exit codes, options, names of files and their versions, kinds of other files, factors,
/// thresholds.
std::string definitions_json();

/// Prints it: jobs/reader/base/definitions.json is what it prints.
void run_command(const DefinitionsOptions& options, std::ostream& out);

}  // namespace rueda
