#pragma once

#include <string>

namespace rueda {

/// Refuses, before anything else is done, a file that could not be written at the end: InputError
/// naming `option`. An empty `path` is no file.
void check_output_file(const std::string& option, const std::string& path);

}  // namespace rueda
