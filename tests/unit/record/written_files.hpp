#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "rueda/train/run_record.hpp"

namespace rueda::test {

/// In the order of the text.
using WrittenFiles = nlohmann::ordered_json;

/// On four ranks no factor of a formula is 1.
inline constexpr std::size_t kWrittenRanks = 4;

/// A run that has something of everything that is written down. The first epoch is whole, the
/// second was resumed and not evaluated.
RunRecord full_run();

/// All files of a run by name, without the options, which have tests of their own. A file of rows
/// is a list of objects, in which an empty cell is null.
WrittenFiles files_of(const RunRecord& run);

/// What lies at a JSON pointer. Fails the test where nothing does.
const WrittenFiles& value_at(const WrittenFiles& json, const std::string& path);
double number_at(const WrittenFiles& json, const std::string& path);

}  // namespace rueda::test
