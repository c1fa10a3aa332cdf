#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace rueda {

/// `rueda forecast` has no options: its questions stand on standard input.
struct ForecastOptions {};
inline void validate(const ForecastOptions&) {}

/// The answers to the questions of a JSON text (docs/architecture.md), as JSON.
/// Throws InputError naming the place in the text.
std::string forecast_answers(std::string_view questions);

/// The same of standard input, for the reader (jobs/reader), which has no copy
/// of the cost model.
void run_command(const ForecastOptions& options, std::ostream& out);

}  // namespace rueda
