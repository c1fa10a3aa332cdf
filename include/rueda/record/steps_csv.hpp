#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace rueda {

/// Reads a steps.csv back: calls `use` with these columns of each row, in their order; NaN is what
/// a row or the file does not tell. Memory does not grow with the file. False if there is no such
/// file or it is empty. Throws InputError naming it if it is no regular file, larger than 10 GB, or
/// has a line of more than 64 KB.
bool for_each_step(const std::filesystem::path& file, std::span<const std::string_view> columns,
                   const std::function<void(std::span<const double>)>& use);

}  // namespace rueda
