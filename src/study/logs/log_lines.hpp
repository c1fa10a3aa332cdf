#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace rueda {

/// Calls `use` with every line of a text file as a terminal would have shown it in time: line
/// feeds, carriage returns and backspaces end lines, escape sequences are left out, and a line is
/// cut after 4096 bytes. Memory does not grow with the file. Throws InputError naming the file and
/// `remedy` if it cannot be read or is larger than 1 GB.
void for_each_line(const std::filesystem::path& path, const std::string& remedy,
                   const std::function<void(std::string_view)>& use);

}  // namespace rueda
