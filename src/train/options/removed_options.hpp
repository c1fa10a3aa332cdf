#pragma once

#include <string>

namespace rueda {

/// "--Batch_Size" is "batch-size".
std::string plain_name(std::string word);

/// "X was removed: USE", where `word` is what `command` had in an earlier
/// version: an option, with or without its value, a recipe's key or a command;
/// else empty.
std::string removal_of(const std::string& command, const std::string& word);

}  // namespace rueda
