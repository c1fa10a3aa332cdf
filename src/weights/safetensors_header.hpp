#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "rueda/weights/safetensors.hpp"

namespace rueda {

/// Throws the InputError about a file that is not as it should be.
[[noreturn]] void refuse_file(const std::filesystem::path& path, const std::string& why);
/// The same, about one of its tensors.
[[noreturn]] void refuse_tensor(const std::filesystem::path& path, std::string_view tensor,
                                const std::string& why);

/// The tensors of a header, in its order. Checks form and names, nothing about sizes. Needs memory
/// in proportion to the text and no recursion, whatever the text is.
std::vector<TensorEntry> parse_header(const std::filesystem::path& path, std::string_view text);

/// Checks that every tensor has the bytes of its shape and that all together cover the data
/// exactly.
void check_layout(const std::filesystem::path& path, const std::vector<TensorEntry>& tensors,
                  std::size_t data_bytes);

}  // namespace rueda
