#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace rueda {

/// Reads a steps.csv: calls `use` with these columns of each row, in their order; a value is NaN
/// where the row or the file lacks it. Memory does not grow with the file. Returns false if the
/// file does not exist or is empty. Throws InputError naming it if it is not regular, is larger
/// than 10 GB, or has a line of more than 64 KB.
bool for_each_step(const std::filesystem::path& file, std::span<const std::string_view> columns,
                   const std::function<void(std::span<const double>)>& use);

}  // namespace rueda
