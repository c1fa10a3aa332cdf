#pragma once

#include <filesystem>

namespace rueda {

/// Unfolds a gzip file once more to compare length and CRC-32 with its trailer, which libarchive
/// skips: else a flipped bit that still unfolds would be trained on. A file that is not gzip
/// passes. Throws InputError naming file and reason. Costs about a second for the official archive.
void require_sound_gzip(const std::filesystem::path& file);

}  // namespace rueda
